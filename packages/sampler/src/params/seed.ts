import { invalidField } from './check.ts';

const LEAST_SEED = -(2n ** 63n);
const GREATEST_SEED = 2n ** 64n - 1n;
const EXPECTED = 'an integer from -2^63 to 2^64 - 1 (a bigint beyond 2^53)';

/**
 * The 64-bit key of the generator, as an unsigned bigint. Signed and unsigned 64-bit seeds are both taken, modulo 2^64.
 * Undefined draws a random one.
 *
 * @throws InvalidArgumentError for fractions, unsafe integers given as numbers, values out of range and other types
 */
export function resolveSeed(seed: unknown): bigint {
  if (seed === undefined) return randomSeed();
  // An unsafe number has already lost digits: 2^53 + 1 would silently be 2^53.
  if (typeof seed === 'number' && Number.isSafeInteger(seed)) return BigInt.asUintN(64, BigInt(seed));
  if (typeof seed === 'bigint' && seed >= LEAST_SEED && seed <= GREATEST_SEED) return BigInt.asUintN(64, seed);
  throw invalidField('seed', EXPECTED, seed);
}

function randomSeed(): bigint {
  return crypto.getRandomValues(new BigUint64Array(1))[0]!;
}
