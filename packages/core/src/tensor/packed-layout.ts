import { InvalidArgumentError } from '../errors/errors.ts';
import type { WeightDtype } from './dtypes.ts';
import { isQuantizedDtype, weightByteLength, weightDtypes } from './dtypes.ts';

/** Rows that are interleaved into one tile, so that lane r of a vector register belongs to row r. */
export const tileRows = 8;

/** Identifies the layouts below; part of every cache key of packed weights. Raise it when a byte moves. */
export const packedLayoutVersion = 1;

/**
 * Packed row tiles: the layout that the CPU kernels read. A matrix of [rows, columns] is cut into tiles of 8 rows (the
 * last one is filled up with zero rows). A tile is contiguous and walks k upwards:
 *
 * - `f32`, `f16`, `bf16`: for each k, the 8 elements of rows 0..7.
 * - `q8_0`: for each 32-block, 8 f16 scales (rows 0..7), then for g = 0..7: for each row, the 4 codes k = 4g .. 4g + 3.
 * - `q4_0`: for each 32-block, 8 f16 scales, then for g = 0..3: for each row, the 4 nibble bytes 4g .. 4g + 3 of its file
 *   block (low nibbles are k = 4g .. 4g + 3, high nibbles k = 16 + 4g .. 16 + 4g + 3).
 * - `q4_1`: for each 32-block, 8 f16 scales, 8 f16 mins, then nibbles as in `q4_0`.
 *
 * The packed bytes of a matrix with a multiple of 8 rows are exactly its bytes in the file.
 */
export function packedByteLength(dtype: WeightDtype, rows: number, columns: number): number {
  return Math.ceil(rows / tileRows) * tileRows * weightByteLength(dtype, columns);
}

/**
 * Packs a matrix into row tiles. Written for reading: it is the oracle of the native packer.
 *
 * @param bytes the matrix as in a file, row-major, `weightByteLength(dtype, rows · columns)` bytes
 * @param rowOrder packed row i is file row `rowOrder[i]`; the identity when absent
 * @throws InvalidArgumentError when the sizes disagree or the order names a row that is not there
 */
export function packMatrix(
  dtype: WeightDtype,
  rows: number,
  columns: number,
  bytes: Uint8Array,
  rowOrder?: Uint32Array,
): Uint8Array {
  const { blockElements, blockBytes } = weightDtypes[dtype];
  if (columns % blockElements !== 0) {
    throw new InvalidArgumentError(`A ${dtype} row must have a multiple of ${blockElements} columns, got ${columns}.`);
  }
  const rowBytes = weightByteLength(dtype, columns);
  if (bytes.length !== rows * rowBytes) {
    throw new InvalidArgumentError(
      `A ${dtype} matrix of ${rows} x ${columns} takes ${rows * rowBytes} bytes, got ${bytes.length}.`,
    );
  }
  if (rowOrder && rowOrder.length !== rows) {
    throw new InvalidArgumentError(`The row order must have ${rows} entries, got ${rowOrder.length}.`);
  }
  const missingRow = rowOrder?.find((row) => row >= rows);
  if (missingRow !== undefined) {
    throw new InvalidArgumentError(`The row order names row ${missingRow} of a matrix of ${rows} rows.`);
  }
  // A block is a sequence of fields; each field is interleaved by rows as a unit of so many bytes.
  const units = isQuantizedDtype(dtype) ? fieldUnits(dtype) : [blockBytes];
  const packed = new Uint8Array(packedByteLength(dtype, rows, columns));
  const blocksPerRow = columns / blockElements;
  let at = 0;
  for (let tile = 0; tile < rows; tile += tileRows) {
    for (let block = 0; block < blocksPerRow; block++) {
      let fieldStart = 0;
      for (const unit of units) {
        for (let r = 0; r < tileRows; r++, at += unit) {
          if (tile + r >= rows) continue; // zero row
          const row = rowOrder ? rowOrder[tile + r]! : tile + r;
          const from = row * rowBytes + block * blockBytes + fieldStart;
          packed.set(bytes.subarray(from, from + unit), at);
        }
        fieldStart += unit;
      }
    }
  }
  return packed;
}

/** Sizes in bytes of the fields of one file block, in order: f16 scale (and min), then groups of 4 code bytes. */
function fieldUnits(dtype: WeightDtype): number[] {
  const halves = dtype === 'q4_1' ? [2, 2] : [2];
  const groups = dtype === 'q8_0' ? 8 : 4;
  return [...halves, ...new Array<number>(groups).fill(4)];
}
