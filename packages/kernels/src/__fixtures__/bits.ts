/**
 * Where two results differ in a bit, for `expect(…).toBeNull()`: null when nowhere. Much faster than comparing arrays through
 * `expect`, and it tells +0 from −0. NaN equals NaN, whatever its payload.
 */
export function firstDifference(got: Float32Array | undefined, expected: Float32Array | undefined): string | null {
  if (!got || !expected) return `got ${got && 'floats'}, expected ${expected && 'floats'}`;
  if (got.length !== expected.length) return `${got.length} floats, expected ${expected.length}`;
  for (let i = 0; i < got.length; i++) {
    if (!Object.is(got[i], expected[i])) return `${got[i]} at ${i}, expected ${expected[i]}`;
  }
  return null;
}

/** Sizes around the lane, block and register sizes that kernels like. */
export const awkwardSizes = [1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 127, 129, 1023];
