import { fma32 } from './fma32.ts';

const fround = Math.fround;

const LN2_HIGH = fround(0.693359375);
const LN2_LOW = fround(-2.1219444e-4);
const SQRT_HALF = fround(Math.SQRT1_2);
const SMALLEST_NORMAL = 2 ** -126;

// log(1 + t) = t - t^2 / 2 + t^3 * P(t) for sqrt(1/2) <= 1 + t < sqrt(2). Minimax coefficients of Cephes' logf (S. L. Moshier, 1992).
const P0 = fround(7.0376836292e-2);
const P1 = fround(-1.151461031e-1);
const P2 = fround(1.167699874e-1);
const P3 = fround(-1.2420140846e-1);
const P4 = fround(1.4249322787e-1);
const P5 = fround(-1.6668057665e-1);
const P6 = fround(2.0000714765e-1);
const P7 = fround(-2.4999993993e-1);
const P8 = fround(3.3333331174e-1);

const floatView = new Float32Array(1);
const bitsView = new Int32Array(floatView.buffer);

/**
 * Natural logarithm in f32. Part of the numerics contract: every backend repeats these operations one by one and gets
 * the same bits.
 *
 * `x` must be an f32 value. log32(1) is +0 exactly; 0 and -0 give -Infinity, x < 0 and NaN give NaN, +Infinity gives
 * +Infinity; denormals are taken at their value. At most 0.76 ulp from the exact value (measured over all floats of
 * [1/2, 2) and every 61st of the rest).
 */
export function log32(x: number): number {
  if (Number.isNaN(x) || x < 0) return Number.NaN;
  if (x === 0) return Number.NEGATIVE_INFINITY;
  if (x === Number.POSITIVE_INFINITY) return x;

  // x = m * 2^e with 1/2 <= m < 1; a denormal is made normal first (exact)
  let e = -126;
  let normal = x;
  if (x < SMALLEST_NORMAL) {
    normal = fround(x * 8388608);
    e = -149;
  }
  floatView[0] = normal;
  e += bitsView[0]! >>> 23;
  bitsView[0] = (bitsView[0]! & 0x007fffff) | 0x3f000000;
  let t = floatView[0]!;

  // sqrt(1/2) <= m < sqrt(2), then t = m - 1 (all exact)
  if (t < SQRT_HALF) {
    e -= 1;
    t = fround(t + t);
  }
  t = fround(t - 1);

  let p = P0;
  p = fma32(p, t, P1);
  p = fma32(p, t, P2);
  p = fma32(p, t, P3);
  p = fma32(p, t, P4);
  p = fma32(p, t, P5);
  p = fma32(p, t, P6);
  p = fma32(p, t, P7);
  p = fma32(p, t, P8);

  const z = fround(t * t);
  let y = fround(t * z);
  y = fround(y * p);
  y = fma32(e, LN2_LOW, y);
  const half = fround(-0.5 * t);
  y = fma32(half, t, y);
  y = fround(t + y);
  return fma32(e, LN2_HIGH, y);
}
