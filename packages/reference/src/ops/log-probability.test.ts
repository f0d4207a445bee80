import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, unitRoundoff } from '../__fixtures__/rows.ts';
import { logProbability } from './log-probability.ts';

describe('logProbability', () => {
  it.each([...awkwardSizes, 1023])('equals log softmax in f64 to within its roundings (%i logits)', (size) => {
    const logits = randomFloats(seededRandom(size), size, 5);
    const max = Math.max(...logits);
    const logSum = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0));
    for (let id = 0; id < size; id += Math.ceil(size / 20)) {
      const exact = logits[id]! - max - logSum;
      // A relative error of the sum (lanes and tree, plus exp) is an absolute one of its logarithm; then log, the two
      // differences, each relative to values no larger than the result's parts.
      const bound =
        (size / 8 + 8) * unitRoundoff + 4 * unitRoundoff * (Math.abs(logits[id]! - max) + Math.abs(logSum) + 1);
      expect(Math.abs(logProbability(logits, id).logprob - exact)).toBeLessThanOrEqual(bound);
    }
  });

  it('is 0 for the only token, and takes the lower id of two largest', () => {
    expect(logProbability(Float32Array.of(7), 0)).toEqual({ logprob: 0, argmax: 0 });
    expect(logProbability(Float32Array.of(1, 3, 2, 3), 0).argmax).toBe(1);
  });
});
