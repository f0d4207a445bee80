/** Four 32-bit words, unsigned. */
export type Words4 = [number, number, number, number];

const NUM_ROUNDS = 10;
const MULTIPLIER_0 = 0xd2511f53;
const MULTIPLIER_1 = 0xcd9e8d57;
/** Added to the key each round: the golden ratio and sqrt(3) - 1, as 32-bit fractions. */
const KEY_STEP_0 = 0x9e3779b9;
const KEY_STEP_1 = 0xbb67ae85;

/**
 * Philox4x32-10: a random function of a 128-bit counter and a 64-bit key, without any state (Salmon, Moraes, Dror, Shaw,
 * "Parallel Random Numbers: As Easy as 1, 2, 3", SC11). Words are listed least significant first.
 */
export function philox4x32(counter: Readonly<Words4>, key: readonly [number, number]): Words4 {
  let [c0, c1, c2, c3] = counter;
  let [k0, k1] = key;
  for (let round = 0; round < NUM_ROUNDS; round++) {
    const high0 = multiplyHigh(MULTIPLIER_0, c0);
    const low0 = Math.imul(MULTIPLIER_0, c0);
    const high1 = multiplyHigh(MULTIPLIER_1, c2);
    const low1 = Math.imul(MULTIPLIER_1, c2);
    c0 = high1 ^ c1 ^ k0;
    c1 = low1;
    c2 = high0 ^ c3 ^ k1;
    c3 = low0;
    k0 = (k0 + KEY_STEP_0) | 0;
    k1 = (k1 + KEY_STEP_1) | 0;
  }
  return [c0 >>> 0, c1 >>> 0, c2 >>> 0, c3 >>> 0];
}

/** Upper 32 bits of the product of two unsigned 32-bit words, by halves of 16 bits. */
function multiplyHigh(a: number, b: number): number {
  const aLow = a & 0xffff;
  const aHigh = a >>> 16;
  const bLow = b & 0xffff;
  const bHigh = b >>> 16;
  // Each sum stays below 2^32 (0xffff * 0xffff + 2 * 0xffff = 2^32 - 1), far within a double.
  const middle = aHigh * bLow + ((aLow * bLow) >>> 16);
  const carry = ((middle & 0xffff) + aLow * bHigh) >>> 16;
  return (aHigh * bHigh + (middle >>> 16) + carry) | 0;
}
