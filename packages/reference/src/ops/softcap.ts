import { tanh32 } from '@hearth/core';
import type { Rows } from '../rows.ts';

const fround = Math.fround;

/** cap · tanh(x / cap) in f32 (Gemma 2): near x for small x, within ±cap for all. */
export function softcapped(x: number, cap: number): number {
  return fround(cap * tanh32(fround(x / cap)));
}

/** x = cap · tanh(x / cap), in place. x [numRows, width] */
export function softcap(x: Rows, cap: number, numRows: number): void {
  const roundedCap = fround(cap);
  for (let t = 0; t < numRows; t++) {
    const row = x.offset + t * x.stride;
    for (let i = 0; i < x.width; i++) x.data[row + i] = softcapped(x.data[row + i]!, roundedCap);
  }
}
