import {
  blockProblem,
  DerivedFile,
  decodeElements,
  InvalidArgumentError,
  InvalidModelError,
  type Quantizer,
  throwIfAborted,
  type WeightSource,
  weightByteLength,
} from '@hearth/core';
import { TimeSlice } from '../io/time-slice.ts';
import { encodeElements } from '../tensor/encode.ts';
import { isQuantizable, type StorageDtype } from './storage-dtype.ts';

/** Elements that are decoded and encoded at a time (whole rows): 2 or 3 ms to decode, and enough work for many threads. */
const pieceElements = 2 ** 16;

export interface RecodeOptions {
  readonly quantizer: Quantizer;
  readonly signal?: AbortSignal;
}

/**
 * The same weight in another type: its rows are decoded, put into the type and handed out when somebody reads them, and only
 * the rows that were asked for are in memory. A source that has the type already is given back.
 *
 * Rows stay where they are (`rowOrder` is kept); columns in an order of their own are put in the model's, so the result
 * equals what a file would hold.
 *
 * @param dtype one whose blocks fit the rows, see `plannedDtypes`
 */
export function recodedSource(source: WeightSource, dtype: StorageDtype, options: RecodeOptions): WeightSource {
  if (source.dtype === dtype) return source;
  const { name, shape, rowOrder, file } = source;
  const columns = shape.at(-1)!;
  const rows = shape.reduce((product, size) => product * size, 1) / columns;
  const rowBytes = weightByteLength(dtype, columns);
  const rowsPerPiece = Math.max(1, Math.floor(pieceElements / columns));
  const byteLength = rows * rowBytes;

  async function derive(offset: number, length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    const slice = new TimeSlice();
    const end = Math.ceil((offset + length) / rowBytes);
    for (let row = Math.floor(offset / rowBytes); row < end; row += rowsPerPiece) {
      throwIfAborted(options.signal);
      if (slice.isSpent) await slice.next();
      const piece = await recodedRows(source, row, Math.min(rowsPerPiece, end - row), dtype, options.quantizer);
      // The first and the last piece may begin and end within the row that was asked for.
      const at = row * rowBytes - offset;
      const from = Math.max(0, -at);
      bytes.set(piece.subarray(from, Math.min(piece.length, length - at)), at + from);
    }
    return bytes;
  }

  return {
    name,
    dtype,
    shape,
    file: new DerivedFile(`${file.path} (${name} as ${dtype})`, byteLength, derive),
    offset: 0,
    byteLength,
    ...(rowOrder && { rowOrder }),
  };
}

async function recodedRows(
  source: WeightSource,
  row: number,
  numRows: number,
  dtype: StorageDtype,
  quantizer: Quantizer,
): Promise<Uint8Array> {
  const { name, file, columnOrder } = source;
  const storedRowBytes = weightByteLength(source.dtype, source.shape.at(-1)!);
  const stored = await file.read(source.offset + row * storedRowBytes, numRows * storedRowBytes);
  try {
    const problem = blockProblem(source.dtype, stored);
    if (problem) throw new InvalidModelError(`${problem}.`);
    const decoded = decodeElements(source.dtype, stored);
    const values = columnOrder ? columnsInOrder(decoded, columnOrder) : decoded;
    return isQuantizable(dtype) ? await quantizer.quantize(dtype, values) : encodeElements(dtype, values);
  } catch (error) {
    const isOfTheValues = error instanceof InvalidArgumentError || error instanceof InvalidModelError;
    if (!isOfTheValues) throw error;
    throw new InvalidModelError(
      `${file.path}: weight "${name}", rows ${row} to ${row + numRows - 1}, as ${dtype}: ${error.message}`,
      { cause: error, details: { path: file.path, tensor: name, dtype } },
    );
  }
}

/** @param columnOrder of the stored columns: the i-th is column `columnOrder[i]` */
function columnsInOrder(values: Float32Array, columnOrder: Uint32Array): Float32Array {
  const ordered = new Float32Array(values.length);
  const columns = columnOrder.length;
  for (let row = 0; row < values.length; row += columns) {
    for (let i = 0; i < columns; i++) ordered[row + columnOrder[i]!] = values[row + i]!;
  }
  return ordered;
}
