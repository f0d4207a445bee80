import type { CheckpointTensor } from '../checkpoint.ts';
import { TimeSlice } from './time-slice.ts';

/** Bytes of whole rows that are read and cut at a time: well below a millisecond of work. */
const pieceBytes = 2 ** 20;

/** Short reads that are under way at the same time. */
const readsAtOnce = 64;

/**
 * From this share of a row on, whole rows are read and the rest is dropped. A matrix that is read strip by strip is then read
 * five times at most, with few long reads; narrower strips are read piece by piece, every byte once.
 */
const wideShare = 1 / 4;

/**
 * The bytes `first` to `first + width` of every row of a matrix, one row after the other.
 * @param rowBytes bytes of a stored row
 * @param slice that of the caller, when it has more to do
 */
export async function readStrip(
  { file, offset, byteLength }: CheckpointTensor,
  rowBytes: number,
  first: number,
  width: number,
  slice = new TimeSlice(),
): Promise<Uint8Array> {
  const numRows = byteLength / rowBytes;
  const strip = new Uint8Array(numRows * width);
  const isWide = width >= rowBytes * wideShare;
  const rowsAtOnce = isWide ? Math.max(1, Math.floor(pieceBytes / rowBytes)) : readsAtOnce;
  for (let row = 0; row < numRows; row += rowsAtOnce) {
    if (slice.isSpent) await slice.next();
    const count = Math.min(rowsAtOnce, numRows - row);
    const start = offset + row * rowBytes;
    if (isWide) {
      const rows = await file.read(start, count * rowBytes);
      for (let i = 0; i < count; i++) {
        strip.set(rows.subarray(i * rowBytes + first, i * rowBytes + first + width), (row + i) * width);
      }
    } else {
      const reads = Array.from({ length: count }, (_, i) => file.read(start + i * rowBytes + first, width));
      for (const [i, part] of (await Promise.all(reads)).entries()) strip.set(part, (row + i) * width);
    }
  }
  return strip;
}
