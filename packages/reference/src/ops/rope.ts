import type { RopeSpec } from '@hearth/core';
import type { Rows } from '../rows.ts';
import { sinCos32 } from './sin-cos.ts';

const fround = Math.fround;

/**
 * out[t] = [cos(positions[t] · invFreq), sin(positions[t] · invFreq)] · attentionScaling
 *
 * positions [T], invFreq [rotaryDim / 2], out [T, rotaryDim]. The angle is rounded to f32, as in Transformers.
 */
export function ropeTable(rope: RopeSpec, positions: Int32Array, out: Rows): void {
  const { invFreq } = rope;
  const scaling = fround(rope.attentionScaling);
  for (let t = 0; t < positions.length; t++) {
    const to = out.offset + t * out.stride;
    for (let i = 0; i < invFreq.length; i++) {
      const { sin, cos } = sinCos32(fround(positions[t]! * invFreq[i]!));
      out.data[to + i] = cos * scaling;
      out.data[to + invFreq.length + i] = sin * scaling;
    }
  }
}

/**
 * Rotates pairs (a, b) = (x[i], x[i + rotaryDim / 2]) of each head, in place (Su et al. 2021):
 * a' = a · cos − b · sin, b' = b · cos + a · sin
 *
 * x [numRows, heads · headDim], table [numRows, rotaryDim]. Dimensions of a head from rotaryDim on stay as they are.
 */
export function rope(x: Rows, table: Rows, headDim: number, rotaryDim: number, numRows: number): void {
  const half = rotaryDim / 2;
  for (let t = 0; t < numRows; t++) {
    const row = x.offset + t * x.stride;
    const cosines = table.offset + t * table.stride;
    const sines = cosines + half;
    for (let head = row; head < row + x.width; head += headDim) {
      for (let i = 0; i < half; i++) {
        const cos = table.data[cosines + i]!;
        const sin = table.data[sines + i]!;
        const a = x.data[head + i]!;
        const b = x.data[head + half + i]!;
        x.data[head + i] = fround(a * cos) - fround(b * sin);
        x.data[head + half + i] = fround(b * cos) + fround(a * sin);
      }
    }
  }
}
