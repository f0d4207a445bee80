import { type Activation, exp32, fma32 } from '@hearth/core';
import type { Rows } from '../rows.ts';

const fround = Math.fround;

/** √(2/π), and 0.044715 of it */
const GELU_LINEAR = fround(0.797884560803);
const GELU_CUBIC = fround(0.035677408136);

/** silu(x) = x / (1 + exp(−x)) in f32 (Elfwing et al. 2017) */
export function silu(x: number): number {
  return fround(x / fround(1 + exp32(-x)));
}

/**
 * The tanh form of GELU (Hendrycks and Gimpel 2016), as x · sigmoid(2u) with u = √(2/π) · (x + 0.044715 x³): the same as
 * 0.5 · x · (1 + tanh(u)), without its cancellation where tanh is near −1.
 */
export function geluTanh(x: number): number {
  const z = fround(x * x);
  const u = fround(x * fma32(z, GELU_CUBIC, GELU_LINEAR));
  return fround(x / fround(1 + exp32(-fround(u + u))));
}

export const activations: Readonly<Record<Activation, (x: number) => number>> = { silu, 'gelu-tanh': geluTanh };

/** out = kind(x). Both [numRows, width]; out may be x. */
export function activation(kind: Activation, x: Rows, out: Rows, numRows: number): void {
  const activate = activations[kind];
  for (let t = 0; t < numRows; t++) {
    const from = x.offset + t * x.stride;
    const to = out.offset + t * out.stride;
    for (let i = 0; i < x.width; i++) out.data[to + i] = activate(x.data[from + i]!);
  }
}
