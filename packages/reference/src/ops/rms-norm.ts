import { fma32 } from '@hearth/core';
import type { Rows } from '../rows.ts';
import { numLanes, sumLanes } from './row-sum.ts';

const fround = Math.fround;

/**
 * out = x / sqrt(mean(x²) + eps) · weight (Zhang and Sennrich 2019)
 *
 * x, out [numRows, width], weight [groupWidth]; width is a multiple of groupWidth, and each group (the row, or each head of
 * it) is normalised by itself. The sum of squares is a row sum of the group, each lane an fma chain.
 */
export function rmsNorm(x: Rows, weight: Float32Array, eps: number, out: Rows, numRows: number): void {
  const groupWidth = weight.length;
  const lanes = new Float32Array(numLanes);
  for (let t = 0; t < numRows; t++) {
    for (let group = 0; group < x.width; group += groupWidth) {
      const from = x.offset + t * x.stride + group;
      const to = out.offset + t * out.stride + group;
      lanes.fill(0);
      for (let i = 0; i < groupWidth; i++) {
        const value = x.data[from + i]!;
        lanes[i % numLanes] = fma32(value, value, lanes[i % numLanes]!);
      }
      const meanSquare = fround(sumLanes(lanes) / groupWidth);
      const scale = fround(1 / fround(Math.sqrt(fround(meanSquare + fround(eps)))));
      for (let i = 0; i < groupWidth; i++) {
        out.data[to + i] = fround(x.data[from + i]! * scale) * weight[i]!;
      }
    }
  }
}
