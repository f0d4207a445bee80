const fround = Math.fround;

/** One unit in the last place of a double, relative to its power of two. */
const DOUBLE_EPSILON = 2 ** -52;

/**
 * Fused multiply-add in f32: the exact `a * b + c`, rounded once to the nearest float, ties to even. The same bits as
 * `std::fma(float, float, float)` and the FMA instructions, also for denormals, overflow, infinities and signs of zero.
 *
 * `a`, `b` and `c` must already be f32 values. (`Math.fround(a * b + c)` alone rounds twice and is wrong now and then.)
 *
 * Why it is exact: the product of two floats has at most 48 bits, so the double `product` has no error. The double `sum`
 * may be rounded, but rounding never crosses a value that a double can hold, and the points halfway between two floats
 * are such values. So the rounded sum lies on the same side of the halfway point as the exact one, and rounding it again
 * is harmless, except when it has landed exactly on the halfway point. Only then the lost part must be looked at.
 */
export function fma32(a: number, b: number, c: number): number {
  const sum = a * b + c;
  const rounded = fround(sum);
  const error = sum - rounded;
  // Halfway, the neighbour on the other side of `sum` is a float too; nowhere else is this one. NaN leaves here as well.
  const otherNeighbour = sum + error;
  if (error === 0 || fround(otherNeighbour) !== otherNeighbour) return rounded;
  // The outer fround changes nothing. It tells V8 that the result is a number, which keeps it out of the heap.
  return fround(roundHalfway(a, b, c));
}

/** `a * b + c` as a double that rounds to the right float, where the rounded sum lies halfway between two of them. */
function roundHalfway(a: number, b: number, c: number): number {
  const product = a * b;
  const sum = product + c;
  // What the addition lost (TwoSum, Knuth 1969). Nothing: a true tie, which fround gives to the even neighbour.
  const addedC = sum - product;
  const addedProduct = sum - addedC;
  const lost = product - addedProduct + (c - addedC);
  if (lost === 0) return sum;
  // One or two double steps towards the exact value leave the halfway point and reach nothing else: floats and their
  // halfway points are at least 2^28 double steps apart.
  const nudge = Math.abs(sum) * DOUBLE_EPSILON;
  return lost > 0 ? sum + nudge : sum - nudge;
}
