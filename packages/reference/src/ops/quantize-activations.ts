import { blockElements } from '../matrix.ts';
import type { Rows } from '../rows.ts';

const fround = Math.fround;

/** Rows of activations as 8-bit codes: x ≈ scale · code. */
export interface QuantizedRows {
  /** [numRows, width] */
  readonly codes: Int8Array;
  /** [numRows, width / 32] */
  readonly scales: Float32Array;
  /** Sum of each block's codes, [numRows, width / 32] */
  readonly sums: Int32Array;
}

/** Blocks whose largest magnitude is below it become zero; 127 / amax would overflow for smaller ones. */
const smallestAmax = 2 ** -120;

/** Adding and subtracting it rounds a double of magnitude below 2^51 to an integer, halves to even. */
const roundToInteger = 1.5 * 2 ** 52;

/**
 * Per block of 32: scale = max|x| / 127, code = x · (127 / max|x|) rounded half to even
 *
 * x [numRows, width], width a multiple of 32. Each row depends on itself alone.
 */
export function quantizeActivations(x: Rows, numRows: number): QuantizedRows {
  const blocksPerRow = x.width / blockElements;
  const codes = new Int8Array(numRows * x.width);
  const scales = new Float32Array(numRows * blocksPerRow);
  const sums = new Int32Array(numRows * blocksPerRow);
  for (let t = 0; t < numRows; t++) {
    for (let b = 0; b < blocksPerRow; b++) {
      const from = x.offset + t * x.stride + b * blockElements;
      let amax = 0;
      for (let i = 0; i < blockElements; i++) amax = Math.max(amax, Math.abs(x.data[from + i]!));
      if (amax < smallestAmax) continue;
      const block = t * blocksPerRow + b;
      const inverse = fround(127 / amax);
      let sum = 0;
      for (let i = 0; i < blockElements; i++) {
        const code = fround(x.data[from + i]! * inverse) + roundToInteger - roundToInteger;
        codes[block * blockElements + i] = code;
        sum += code;
      }
      scales[block] = amax / 127;
      sums[block] = sum;
    }
  }
  return { codes, scales, sums };
}
