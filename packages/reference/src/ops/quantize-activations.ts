import { largestCode, roundToInteger, smallestAmax } from '../int8-codes.ts';
import { blockElements } from '../matrix.ts';
import type { Rows } from '../rows.ts';

const fround = Math.fround;

/** Rows of activations as 8-bit codes: x ≈ scale · code. */
export interface QuantizedRows {
  /** [numRows, width] */
  readonly codes: Int8Array;
  /** [numRows, width / 32] */
  readonly scales: Float32Array;
  /** Sum of the codes of each half block, [numRows, width / 16] */
  readonly halfSums: Int32Array;
}

/**
 * Per block of 32: scale = max|x| / 127, code = x · (127 / max|x|) rounded half to even
 *
 * x [numRows, width], width a multiple of 32. Each row depends on itself alone. With `columnOrder`, the i-th activation is
 * x[columnOrder[i]], and the blocks are of 32 activations in that order.
 */
export function quantizeActivations(x: Rows, numRows: number, columnOrder: Uint32Array | null = null): QuantizedRows {
  const { width } = x;
  const codes = new Int8Array(numRows * width);
  const scales = new Float32Array((numRows * width) / blockElements);
  const halfSums = new Int32Array((numRows * width) / 16);
  const ordered = new Float32Array(width);
  for (let t = 0; t < numRows; t++) {
    const from = x.offset + t * x.stride;
    if (columnOrder) for (let i = 0; i < width; i++) ordered[i] = x.data[from + columnOrder[i]!]!;
    else ordered.set(x.data.subarray(from, from + width));
    for (let start = 0; start < width; start += blockElements) {
      let amax = 0;
      for (let i = start; i < start + blockElements; i++) amax = Math.max(amax, Math.abs(ordered[i]!));
      if (amax < smallestAmax) continue;
      scales[(t * width + start) / blockElements] = amax / largestCode;
      const inverse = fround(largestCode / amax);
      for (let i = start; i < start + blockElements; i++) {
        const code = fround(ordered[i]! * inverse) + roundToInteger - roundToInteger;
        codes[t * width + i] = code;
        halfSums[(t * width + i) >> 4]! += code;
      }
    }
  }
  return { codes, scales, halfSums };
}
