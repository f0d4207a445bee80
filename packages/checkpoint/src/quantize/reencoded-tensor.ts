import { InvalidArgumentError, InvalidModelError, type Quantizer } from '@hearth/core';
import type { CheckpointTensor } from '../checkpoint.ts';
import { encodeElements } from '../tensor/encode.ts';
import { readStoredRows, readTensorChunks } from '../tensor/read-tensor.ts';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import { isQuantizable, type StorageDtype } from './storage-dtype.ts';

/** Elements that are quantized at a time: enough work for many threads. */
const pieceElements = 2 ** 16;

/**
 * A tensor for a writer, in another type: decoded and encoded piece by piece. One that has the type already, in the order of
 * Hugging Face, is copied without a change.
 */
export function reencodedTensor(
  tensor: CheckpointTensor,
  dtype: StorageDtype,
  quantizer: Quantizer,
  signal: AbortSignal | undefined,
): TensorToWrite {
  const { name, shape, columnOrder, plus, transposed } = tensor;
  const options = signal ? { signal } : {};
  const isInOrder = !columnOrder && plus === undefined && !transposed;
  const data = () => {
    return tensor.dtype === dtype && isInOrder
      ? readStoredRows(tensor, options)
      : encodedPieces(tensor, readTensorChunks(tensor, options), dtype, quantizer);
  };
  return { name, dtype, shape, data };
}

async function* encodedPieces(
  { name, file }: CheckpointTensor,
  chunks: AsyncIterable<Float32Array>,
  dtype: StorageDtype,
  quantizer: Quantizer,
): AsyncGenerator<Uint8Array> {
  try {
    if (isQuantizable(dtype)) {
      for await (const values of gathered(chunks)) yield await quantizer.quantize(dtype, values);
    } else {
      for await (const values of chunks) yield encodeElements(dtype, values);
    }
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new InvalidModelError(`${file.path}: tensor "${name}" as ${dtype}: ${error.message}`, {
      cause: error,
      details: { path: file.path, tensor: name, dtype },
    });
  }
}

/** The same elements in larger pieces. Each is valid until the next one is asked for. */
async function* gathered(chunks: AsyncIterable<Float32Array>): AsyncGenerator<Float32Array> {
  let buffer: Float32Array | undefined;
  let length = 0;
  for await (const chunk of chunks) {
    if (length + chunk.length > pieceElements) {
      if (length > 0) yield buffer!.subarray(0, length);
      length = 0;
    }
    if (chunk.length > pieceElements) {
      yield chunk;
      continue;
    }
    buffer ??= new Float32Array(pieceElements);
    buffer.set(chunk, length);
    length += chunk.length;
  }
  if (length > 0) yield buffer!.subarray(0, length);
}
