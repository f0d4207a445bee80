import { InvalidArgumentError, InvalidModelError } from '../errors/errors.ts';
import { canonicalBlock } from './canonical-blocks.ts';
import type { WeightDtype } from './dtypes.ts';
import { weightByteLength, weightDtypes } from './dtypes.ts';
import { blockProblem } from './formats/block-problem.ts';
import { interleaveUnits } from './interleave-units.ts';

/** Rows that are interleaved into one tile, so that lane r of a vector register belongs to row r. */
export const tileRows = 8;

/** Identifies the layouts below; part of every cache key of packed weights. Raise it when a byte moves. */
export const packedLayoutVersion = 2;

/**
 * Packed row tiles: the layout that the CPU kernels read. A matrix of [rows, columns] is cut into tiles of 8 rows (the
 * last one is filled up with zero rows). A tile is contiguous and walks its blocks upwards in k. The block of each row is
 * first brought into a canonical order (canonical-blocks.ts: scales and minimums, then the codes in planes, code-planes.ts),
 * then cut into units (interleave-units.ts); unit after unit, the tile holds that of row 0, row 1 … row 7:
 *
 * - `f32`, `f16`, `bf16`: for each k, the 8 elements.
 * - `q8_0`: for each 32-block, 8 f16 scales, then for g = 0..7: for each row, the 4 codes k = 4g .. 4g + 3.
 * - `q4_0`: for each 32-block, 8 f16 scales, then for g = 0..3: for each row, the 4 nibble bytes 4g .. 4g + 3 of its file
 *   block (low nibbles are k = 4g .. 4g + 3, high nibbles k = 16 + 4g .. 16 + 4g + 3).
 * - the others likewise; docs/shapes.md draws them.
 *
 * `f8_e4m3` takes twice the bytes of its file, because its codes become f16; of every other type the packed bytes of a
 * matrix with a multiple of 8 rows are at most 1.03 times those of its file.
 */
export function packedByteLength(dtype: WeightDtype, rows: number, columns: number): number {
  const { blockElements, packedBlockBytes } = weightDtypes[dtype];
  return Math.ceil(rows / tileRows) * tileRows * (columns / blockElements) * packedBlockBytes;
}

/**
 * Packs a matrix into row tiles. Written for reading: it is the oracle of the native packer.
 *
 * @param bytes the matrix as in a file, row-major, `weightByteLength(dtype, rows · columns)` bytes
 * @param rowOrder packed row i is file row `rowOrder[i]`; the identity when absent
 * @throws InvalidArgumentError when the sizes disagree or the order names a row that is not there
 * @throws InvalidModelError when an `f8_e4m3` code is NaN or an `int4` zero point above 16
 */
export function packMatrix(
  dtype: WeightDtype,
  rows: number,
  columns: number,
  bytes: Uint8Array,
  rowOrder?: Uint32Array,
): Uint8Array {
  checkSizes(dtype, rows, columns, bytes, rowOrder);
  const problem = blockProblem(dtype, bytes);
  if (problem) throw new InvalidModelError(`A matrix of ${dtype} cannot be packed: ${problem}.`);
  const { blockBytes } = weightDtypes[dtype];
  const units = interleaveUnits(dtype);
  const rowBytes = weightByteLength(dtype, columns);
  const packed = new Uint8Array(packedByteLength(dtype, rows, columns));
  let at = 0;
  for (let tile = 0; tile < rows; tile += tileRows) {
    for (let start = 0; start < rowBytes; start += blockBytes) {
      // The same block of each row of the tile; none where the matrix has ended, which leaves zeros.
      const blocks = Array.from({ length: tileRows }, (_, r) => {
        if (tile + r >= rows) return null;
        const from = (rowOrder ? rowOrder[tile + r]! : tile + r) * rowBytes + start;
        return canonicalBlock(dtype, bytes.subarray(from, from + blockBytes));
      });
      let unitStart = 0;
      for (const unit of units) {
        for (const block of blocks) {
          if (block) packed.set(block.subarray(unitStart, unitStart + unit), at);
          at += unit;
        }
        unitStart += unit;
      }
    }
  }
  return packed;
}

function checkSizes(
  dtype: WeightDtype,
  rows: number,
  columns: number,
  bytes: Uint8Array,
  rowOrder?: Uint32Array,
): void {
  const { blockElements } = weightDtypes[dtype];
  if (columns % blockElements !== 0) {
    throw new InvalidArgumentError(`A ${dtype} row must have a multiple of ${blockElements} columns, got ${columns}.`);
  }
  const expected = weightByteLength(dtype, rows * columns);
  if (bytes.length !== expected) {
    throw new InvalidArgumentError(
      `A ${dtype} matrix of ${rows} x ${columns} takes ${expected} bytes, got ${bytes.length}.`,
    );
  }
  if (rowOrder && rowOrder.length !== rows) {
    throw new InvalidArgumentError(`The row order must have ${rows} entries, got ${rowOrder.length}.`);
  }
  const missingRow = rowOrder?.find((row) => row >= rows);
  if (missingRow !== undefined) {
    throw new InvalidArgumentError(`The row order names row ${missingRow} of a matrix of ${rows} rows.`);
  }
}
