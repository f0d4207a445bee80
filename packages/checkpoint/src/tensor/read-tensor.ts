import {
  decodeElements,
  throwIfAborted,
  UnsupportedError,
  type WeightDtype,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import type { CheckpointTensor } from '../checkpoint.ts';
import { TimeSlice } from '../io/time-slice.ts';
import { inHuggingFaceOrder } from './hugging-face-order.ts';

/** Stored bytes decoded at a time: at most two milliseconds of work, also for 4-bit types. */
const chunkBytes = 2 ** 16;

/** Nothing that Hearth runs has tensors of this size; their floats would not fit one typed array on every Node.js. */
const maxElements = 2 ** 31;

export interface ReadTensorOptions {
  readonly signal?: AbortSignal;
}

/**
 * All elements of a tensor as f32, as Hugging Face keeps them. Takes 4 bytes of memory an element.
 * @throws UnsupportedError that names tensor and type when it cannot be decoded
 */
export async function readTensor(tensor: CheckpointTensor, options: ReadTensorOptions = {}): Promise<Float32Array> {
  const numElements = tensor.shape.reduce((product, dim) => product * dim, 1);
  requireWeightDtype(tensor);
  if (numElements > maxElements) {
    throw new UnsupportedError(
      `${tensor.file.path}: tensor "${tensor.name}" has ${numElements} elements; at most ${maxElements} are read at once.`,
      { details: { path: tensor.file.path, tensor: tensor.name, numElements } },
    );
  }
  const values = new Float32Array(numElements);
  let at = 0;
  for await (const chunk of readTensorChunks(tensor, options)) {
    values.set(chunk, at);
    at += chunk.length;
  }
  return values;
}

/** The same elements piece by piece, in order, for tensors that need not be in memory as a whole. */
export function readTensorChunks(
  tensor: CheckpointTensor,
  options: ReadTensorOptions = {},
): AsyncGenerator<Float32Array> {
  return inHuggingFaceOrder(tensor, () => decodedChunks(tensor, options));
}

/** The stored bytes piece by piece, rows in the order of Hugging Face, each piece of whole blocks. */
export async function* readStoredRows(
  tensor: CheckpointTensor,
  { signal }: ReadTensorOptions = {},
): AsyncGenerator<Uint8Array> {
  const { blockBytes } = weightDtypes[requireWeightDtype(tensor)];
  const slice = new TimeSlice();
  for await (const bytes of readRows(tensor, blockBytes)) {
    throwIfAborted(signal);
    if (slice.isSpent) await slice.next();
    yield bytes;
  }
}

/** Elements as the file has them, but for the order of rows. */
async function* decodedChunks(tensor: CheckpointTensor, options: ReadTensorOptions): AsyncGenerator<Float32Array> {
  const dtype = requireWeightDtype(tensor);
  for await (const bytes of readStoredRows(tensor, options)) yield decodeElements(dtype, bytes);
}

/** Stored bytes in pieces of whole blocks, or of whole rows where rows change places. */
async function* readRows(tensor: CheckpointTensor, blockBytes: number): AsyncGenerator<Uint8Array> {
  const { file, offset, byteLength, rowOrder } = tensor;
  if (rowOrder === undefined) {
    // Eight blocks of 32 are one of 256, so that a piece can be encoded in any type.
    const step = Math.ceil(chunkBytes / (8 * blockBytes)) * 8 * blockBytes;
    for (let start = 0; start < byteLength; start += step) {
      yield await file.read(offset + start, Math.min(step, byteLength - start));
    }
    return;
  }
  // Rows come from all over the tensor, so it is read as a whole.
  const stored = await file.read(offset, byteLength);
  const rowBytes = byteLength / rowOrder.length;
  const rowsPerChunk = Math.max(1, Math.floor(chunkBytes / rowBytes));
  for (let first = 0; first < rowOrder.length; first += rowsPerChunk) {
    const rows = rowOrder.subarray(first, first + rowsPerChunk);
    const chunk = new Uint8Array(rows.length * rowBytes);
    for (let i = 0; i < rows.length; i++) {
      chunk.set(stored.subarray(rows[i]! * rowBytes, (rows[i]! + 1) * rowBytes), i * rowBytes);
    }
    yield chunk;
  }
}

/** @throws UnsupportedError that names tensor and type when Hearth does not compute with it */
export function requireWeightDtype(tensor: CheckpointTensor): WeightDtype {
  if (isWeightDtype(tensor)) return tensor.dtype;
  throw new UnsupportedError(
    `${tensor.file.path}: tensor "${tensor.name}" has the type ${tensor.dtype}, which Hearth does not compute with; it takes ${Object.keys(weightDtypes).join(', ')}.`,
    { details: { path: tensor.file.path, tensor: tensor.name, dtype: tensor.dtype } },
  );
}

function isWeightDtype(tensor: CheckpointTensor): tensor is CheckpointTensor & { readonly dtype: WeightDtype } {
  const { dtype, shape, byteLength } = tensor;
  if (!Object.hasOwn(weightDtypes, dtype)) return false;
  if (dtype !== 'f8_e4m3') return true;
  // Safetensors calls bare bytes without a scale by the same name; they are weights only together with their scales.
  const numElements = shape.reduce((product, dim) => product * dim, 1);
  return byteLength === weightByteLength(dtype, numElements);
}
