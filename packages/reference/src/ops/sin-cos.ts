const TWO_OVER_PI = 0.6366197723675814;
/** π/2 in three parts. The first two end in zero bits, so that their products with n below 2^20 are exact. */
const HALF_PI_HIGH = 1.5707963267341256;
const HALF_PI_MIDDLE = 6.077100506303966e-11;
const HALF_PI_LOW = 2.0222662487959506e-21;

// The kernels of fdlibm (Sun Microsystems 1993): sin and cos on [−π/4, π/4] to within 2^-58.
const S1 = -0.16666666666666632;
const S2 = 0.00833333333332249;
const S3 = -0.0001984126982985795;
const S4 = 2.7557313707070068e-6;
const S5 = -2.5050760253406863e-8;
const S6 = 1.58969099521155e-10;
const C1 = 0.0416666666666666;
const C2 = -0.001388888888887411;
const C3 = 2.480158728947673e-5;
const C4 = -2.7557314351390663e-7;
const C5 = 2.087572321298175e-9;
const C6 = -1.1359647557788195e-11;

/**
 * sin and cos of an angle from 0 to 2^20 · π/2, in f64 and rounded once to f32. Part of the numerics contract: every backend
 * repeats these operations one by one.
 */
export function sinCos32(angle: number): { sin: number; cos: number } {
  const n = Math.floor(angle * TWO_OVER_PI + 0.5);
  let r = angle - n * HALF_PI_HIGH;
  r -= n * HALF_PI_MIDDLE;
  r -= n * HALF_PI_LOW;
  const z = r * r;
  const s = r + r * z * (S1 + z * (S2 + z * (S3 + z * (S4 + z * (S5 + z * S6)))));
  const c = 1 - 0.5 * z + z * z * (C1 + z * (C2 + z * (C3 + z * (C4 + z * (C5 + z * C6)))));
  // The quarter turn n mod 4 swaps the two and sets their signs.
  const quarter = n % 4;
  const sin = quarter === 0 ? s : quarter === 1 ? c : quarter === 2 ? -s : -c;
  const cos = quarter === 0 ? c : quarter === 1 ? -s : quarter === 2 ? -c : s;
  return { sin: Math.fround(sin), cos: Math.fround(cos) };
}
