import { fma32 } from './fma32.ts';

const fround = Math.fround;

const LOG2_E = fround(Math.LOG2E);
/** 1.5 * 2^23: adding and subtracting it rounds an f32 of magnitude below 2^22 to an integer, halves to even. */
const ROUND_TO_INTEGER = 12582912;
/** ln 2 in two parts: the high one has few bits, so that its product with an integer up to 127 is exact. */
const MINUS_LN2_HIGH = fround(-0.693359375);
const MINUS_LN2_LOW = fround(2.1219444e-4);

// exp(r) = 1 + r + r^2 * P(r) for |r| <= ln(2) / 2. Minimax coefficients of Cephes' expf (S. L. Moshier, 1992).
const P0 = fround(1.98756915e-4);
const P1 = fround(1.3981999507e-3);
const P2 = fround(8.3334519073e-3);
const P3 = fround(4.1665795894e-2);
const P4 = fround(1.6666665459e-1);
const P5 = fround(5.0000001201e-1);

/** Below it the result is +0. exp(-87) is 1.6e-38, just above the smallest normal float. */
const LOWEST_INPUT = -87;
/** Above it the result is +Infinity. Up to it the power of two stays within 2^127. */
const HIGHEST_INPUT = 88;

const floatView = new Float32Array(1);
const bitsView = new Int32Array(floatView.buffer);

/**
 * e^x in f32. Part of the numerics contract: every backend repeats these operations one by one and gets the same bits.
 *
 * `x` must be an f32 value. exp32(0) is 1 exactly; x < -87 gives +0, x > 88 gives +Infinity, NaN gives NaN. At most
 * 1.01 ulp from the exact value (measured over every third float of [-87, 0] and every fifth of the positive ones), and
 * never falling where x rises (checked over all floats).
 */
export function exp32(x: number): number {
  if (x < LOWEST_INPUT) return 0;
  if (x > HIGHEST_INPUT) return Number.POSITIVE_INFINITY;
  if (Number.isNaN(x)) return Number.NaN;

  // x = n * ln(2) + r with an integer n
  let n = fround(x * LOG2_E);
  n = fround(n + ROUND_TO_INTEGER);
  n = fround(n - ROUND_TO_INTEGER);
  // the contract's fma(n, -LN2_HIGH, x): the product is exact, so a plain addition rounds as the fma does
  let r = fround(n * MINUS_LN2_HIGH + x);
  r = fma32(n, MINUS_LN2_LOW, r);

  let p = P0;
  p = fma32(p, r, P1);
  p = fma32(p, r, P2);
  p = fma32(p, r, P3);
  p = fma32(p, r, P4);
  p = fma32(p, r, P5);

  const z = fround(r * r);
  let y = fma32(p, z, r);
  y = fround(y + 1);

  // 2^n, written as its exponent field
  bitsView[0] = (n + 127) << 23;
  return fround(y * floatView[0]!);
}
