import type { Activation } from '@hearth/core';
import type { Rows } from '../rows.ts';
import { activations } from './activation.ts';

/** out = kind(gate) · up. All [numRows, width]; out may be gate. */
export function gatedActivation(kind: Activation, gate: Rows, up: Rows, out: Rows, numRows: number): void {
  const activate = activations[kind];
  for (let t = 0; t < numRows; t++) {
    const gateStart = gate.offset + t * gate.stride;
    const upStart = up.offset + t * up.stride;
    const to = out.offset + t * out.stride;
    for (let i = 0; i < gate.width; i++) {
      out.data[to + i] = activate(gate.data[gateStart + i]!) * up.data[upStart + i]!;
    }
  }
}
