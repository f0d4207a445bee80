import { exp32 } from './exp32.ts';
import { fma32 } from './fma32.ts';

const fround = Math.fround;

/** From here on the exponential form is exact enough; below it 1 − 2 / (…) would lose the leading digits. */
const POLYNOMIAL_BELOW = 0.625;

// tanh(x) = x + x · z · P(z), z = x². Minimax coefficients of Cephes' tanhf (S. L. Moshier, 1992).
const P0 = fround(-5.70498872745e-3);
const P1 = fround(2.06390887954e-2);
const P2 = fround(-5.37397155531e-2);
const P3 = fround(1.33314422036e-1);
const P4 = fround(-3.33332819422e-1);

/**
 * Hyperbolic tangent in f32. Part of the numerics contract: every backend repeats these operations one by one and gets the
 * same bits. `x` must be an f32 value; tanh32(±0) is +0, large values give ±1, NaN gives NaN.
 */
export function tanh32(x: number): number {
  const magnitude = Math.abs(x);
  if (magnitude < POLYNOMIAL_BELOW) {
    const z = fround(x * x);
    let p = P0;
    p = fma32(p, z, P1);
    p = fma32(p, z, P2);
    p = fma32(p, z, P3);
    p = fma32(p, z, P4);
    return fma32(fround(p * z), x, x);
  }
  const result = fround(1 - fround(2 / fround(exp32(fround(magnitude + magnitude)) + 1)));
  return x < 0 ? -result : result;
}
