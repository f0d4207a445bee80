import { NumericError } from '@hearth/core';
import type { Candidates } from './candidates/candidates.ts';

const fround = Math.fround;

/**
 * The token at which the running weight first exceeds `u` times the total, both summed in candidate order in f32.
 *
 * There always is one: u is at most 1 - 2^-24, and fround(u * total) stays below total for every normal float.
 *
 * @param u in [0, 1), f32
 * @throws NumericError when a custom processor has made the weights something that is no weight
 */
export function drawCandidate(candidates: Candidates, u: number): number {
  const { length, tokenIds, weights } = candidates;
  const total = candidates.totalWeight();
  const drawn = fround(u * total);
  let sum = 0;
  for (let i = 0; i < length; i++) {
    sum = fround(sum + weights[i]!);
    if (sum > drawn) return tokenIds[i]!;
  }
  throw new NumericError(
    'draw',
    `The weights of candidates must be finite, not negative and not all 0, but they add up to ${total}. A custom processor may drop candidates and must not change their weights.`,
  );
}
