import { InvalidArgumentError, throwIfAborted } from '@hearth/core';
import type { FileSink } from '../io/write-aside.ts';

/** A tensor for a writer: what it is, and where its bytes come from when its turn comes. */
export interface TensorToWrite {
  readonly name: string;
  /** In lower case: `f32`, `bf16`, `q4_0` ... Which are allowed depends on the file format. */
  readonly dtype: string;
  /** [rows, columns] or [length]: the last dimension varies fastest. */
  readonly shape: readonly number[];
  /** For GGUF: `data` has this added already, as the file keeps it. */
  readonly plus?: number;
  /** For GGUF: `data` is the matrix the other way round already, as the file keeps it; `shape` is not. */
  readonly transposed?: true;
  /** Called once. All bytes at once or piece by piece, in order, little endian. */
  data(): Uint8Array | Promise<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** The pieces of a tensor's data, checked to be as many bytes as dtype and shape ask for. */
export async function* tensorPieces(
  tensor: TensorToWrite,
  byteLength: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array> {
  let numBytes = 0;
  const data = tensor.data();
  const pieces = Symbol.asyncIterator in data ? data : [await data];
  for await (const piece of pieces) {
    throwIfAborted(signal);
    numBytes += piece.length;
    if (numBytes > byteLength) break;
    yield piece;
  }
  if (numBytes !== byteLength) {
    throw new InvalidArgumentError(
      `Tensor "${tensor.name}" (${tensor.dtype}, [${tensor.shape.join(', ')}]) takes ${byteLength} bytes, but its data has ${numBytes > byteLength ? 'more' : numBytes}.`,
      { details: { tensor: tensor.name, byteLength } },
    );
  }
}

/** Writes a tensor's data piece by piece. */
export async function writeTensorData(
  sink: FileSink,
  tensor: TensorToWrite,
  byteLength: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  for await (const piece of tensorPieces(tensor, byteLength, signal)) await sink.write(piece);
}

/**
 * Bytes of a tensor whose elements come in blocks along the last dimension.
 * @throws InvalidArgumentError for a shape that is none, or that does not fit the blocks
 */
export function tensorByteLength(tensor: TensorToWrite, blockElements: number, blockBytes: number): number {
  const { name, dtype, shape } = tensor;
  const fail = (problem: string): never => {
    throw new InvalidArgumentError(`Tensor "${name}" (${dtype}, [${shape.join(', ')}]) ${problem}.`, {
      details: { tensor: name, shape },
    });
  };
  if (!shape.every((dim) => Number.isSafeInteger(dim) && dim >= 0)) fail('must have whole dimensions');
  const columns = shape.at(-1) ?? 1;
  if (columns % blockElements !== 0) fail(`must have a multiple of ${blockElements} columns`);
  const byteLength = (shape.reduce((product, dim) => product * dim, 1) / blockElements) * blockBytes;
  if (!Number.isSafeInteger(byteLength)) fail('is too large');
  return byteLength;
}

/** @throws InvalidArgumentError when two tensors share a name, or one has none */
export function checkTensorNames(tensors: readonly TensorToWrite[]): void {
  const names = new Set<string>();
  for (const { name } of tensors) {
    if (name === '') throw new InvalidArgumentError('A tensor has an empty name.');
    if (names.has(name))
      throw new InvalidArgumentError(`Tensor "${name}" is there twice.`, { details: { tensor: name } });
    names.add(name);
  }
}
