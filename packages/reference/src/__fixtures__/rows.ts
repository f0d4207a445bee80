import type { Rows } from '../rows.ts';

/** Tight rows over the given values. */
export function tightRows(data: Float32Array, width: number): Rows {
  return { data, offset: 0, stride: width, width };
}

/**
 * Rows in the middle of a wider buffer that is full of NaN otherwise, as a part of a merged projection is: an op that reads
 * or counts a wrong column shows.
 */
export function embeddedRows(values: Float32Array, width: number): Rows {
  const stride = width + 5;
  const numRows = values.length / width;
  const data = new Float32Array(numRows * stride + 3).fill(Number.NaN);
  for (let t = 0; t < numRows; t++) data.set(values.subarray(t * width, (t + 1) * width), 3 + t * stride);
  return { data, offset: 3, stride, width };
}

/** Widths around the lane, block and register sizes that implementations like. */
export const awkwardSizes = [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 127, 129];

/** Half the distance from 1 to the next f32: the largest relative error of one rounding. */
export const unitRoundoff = 2 ** -24;
