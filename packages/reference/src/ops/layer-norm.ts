import { fma32 } from '@hearth/core';
import type { Rows } from '../rows.ts';
import { numLanes, sumLanes } from './row-sum.ts';

const fround = Math.fround;

/**
 * out = (x − mean(x)) / sqrt(var(x) + eps) · weight + bias (Ba et al. 2016)
 *
 * x, out [numRows, width], weight, bias [width]. The mean is a row sum; so is the sum of squared differences, each lane
 * an fma chain.
 */
export function layerNorm(
  x: Rows,
  weight: Float32Array,
  bias: Float32Array,
  eps: number,
  out: Rows,
  numRows: number,
): void {
  const { width } = x;
  const lanes = new Float32Array(numLanes);
  for (let t = 0; t < numRows; t++) {
    const from = x.offset + t * x.stride;
    const to = out.offset + t * out.stride;
    lanes.fill(0);
    for (let i = 0; i < width; i++) lanes[i % numLanes] = lanes[i % numLanes]! + x.data[from + i]!;
    const mean = fround(sumLanes(lanes) / width);
    lanes.fill(0);
    for (let i = 0; i < width; i++) {
      const difference = fround(x.data[from + i]! - mean);
      lanes[i % numLanes] = fma32(difference, difference, lanes[i % numLanes]!);
    }
    const variance = fround(sumLanes(lanes) / width);
    const scale = fround(1 / fround(Math.sqrt(fround(variance + fround(eps)))));
    for (let i = 0; i < width; i++) {
      const difference = fround(x.data[from + i]! - mean);
      out.data[to + i] = fround(fround(difference * scale) * weight[i]!) + bias[i]!;
    }
  }
}
