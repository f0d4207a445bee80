import { Buffer } from 'node:buffer';
import { InvalidArgumentError } from '@hearth/core';
import { type FileSink, writeAside } from '../io/write-aside.ts';
import { checkTensorNames, type TensorToWrite, tensorByteLength, writeTensorData } from '../tensor/tensor-to-write.ts';
import { safetensorsDtypeBits } from './dtypes.ts';

export interface WriteSafetensorsOptions {
  /** `__metadata__`; Transformers wants `{ format: 'pt' }` there, which is the default. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/**
 * Writes one safetensors file, aside and renamed. Only one piece of one tensor is in memory at a time.
 *
 * Tensors are laid out by element size, wider ones first and otherwise in the order given, so that every one is aligned to
 * its elements.
 *
 * @throws InvalidArgumentError for a dtype that the format does not have, and for data of a wrong length
 */
export async function writeSafetensors(
  path: string,
  tensors: readonly TensorToWrite[],
  { metadata = { format: 'pt' }, signal }: WriteSafetensorsOptions = {},
): Promise<void> {
  checkTensorNames(tensors);
  const placed = tensors
    .map((tensor) => ({ tensor, bits: elementBits(tensor), byteLength: safetensorsByteLength(tensor) }))
    .sort((a, b) => b.bits - a.bits);
  const entries: [string, unknown][] = Object.keys(metadata).length > 0 ? [['__metadata__', metadata]] : [];
  let offset = 0;
  for (const { tensor, byteLength } of placed) {
    const data_offsets = [offset, offset + byteLength];
    entries.push([tensor.name, { dtype: tensor.dtype.toUpperCase(), shape: tensor.shape, data_offsets }]);
    offset += byteLength;
  }
  await writeAside(path, async (sink) => {
    await writeHeader(sink, JSON.stringify(Object.fromEntries(entries)));
    for (const { tensor, byteLength } of placed) await writeTensorData(sink, tensor, byteLength, signal);
  });
}

/** Bytes that a tensor takes in a safetensors file. */
export function safetensorsByteLength(tensor: TensorToWrite): number {
  const bits = elementBits(tensor);
  // Types below a byte come in bytes or triples of them: 8 elements are `bits` bytes.
  return bits % 8 === 0 ? tensorByteLength(tensor, 1, bits / 8) : tensorByteLength(tensor, 8, bits);
}

function elementBits({ name, dtype }: TensorToWrite): number {
  const bits = safetensorsDtypeBits.get(dtype.toUpperCase());
  if (name === '__metadata__') throw new InvalidArgumentError('A tensor cannot be named "__metadata__".');
  if (bits !== undefined) return bits;
  throw new InvalidArgumentError(`Tensor "${name}" has dtype ${dtype}, which the safetensors format does not have.`, {
    details: { tensor: name, dtype },
  });
}

/** The header is filled up with spaces so that the data starts at a multiple of 8. */
async function writeHeader(sink: FileSink, json: string): Promise<void> {
  const text = Buffer.from(json, 'utf8');
  const padded = Buffer.alloc(Math.ceil(text.length / 8) * 8, ' ');
  text.copy(padded);
  const length = new DataView(new ArrayBuffer(8));
  length.setBigUint64(0, BigInt(padded.length), true);
  await sink.write(new Uint8Array(length.buffer));
  await sink.write(padded);
}
