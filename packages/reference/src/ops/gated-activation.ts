import { exp32 } from '@hearth/core';
import type { Rows } from '../rows.ts';

const fround = Math.fround;

/** silu(x) = x / (1 + exp(−x)) in f32 (Elfwing et al. 2017) */
export function silu(x: number): number {
  return fround(x / fround(1 + exp32(-x)));
}

/** out = silu(gate) · up. All [numRows, width]; out may be gate. */
export function gatedActivation(gate: Rows, up: Rows, out: Rows, numRows: number): void {
  for (let t = 0; t < numRows; t++) {
    const gateStart = gate.offset + t * gate.stride;
    const upStart = up.offset + t * up.stride;
    const to = out.offset + t * out.stride;
    for (let i = 0; i < gate.width; i++) {
      out.data[to + i] = silu(gate.data[gateStart + i]!) * up.data[upStart + i]!;
    }
  }
}
