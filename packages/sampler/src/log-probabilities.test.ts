import { exp32, log32 } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { randomRow } from './__fixtures__/rows.ts';
import { logNormalizer, logProbability } from './log-probabilities.ts';

const fround = Math.fround;

describe('logNormalizer', () => {
  it.each([1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 127, 129, 1023])(
    'adds %i values in eight lanes and one tree',
    (length) => {
      const logits = randomRow(length, length);
      const max = Math.max(...logits);
      const lanes = Array.from({ length: 8 }, (_, lane) =>
        [...logits]
          .filter((_, i) => i % 8 === lane)
          .reduce((sum, logit) => fround(sum + exp32(fround(logit - max))), 0),
      );
      const halves = [0, 1, 2, 3].map((i) => fround(lanes[i]! + lanes[i + 4]!));
      const quarters = [0, 1].map((j) => fround(halves[j]! + halves[j + 2]!));
      const sum = fround(quarters[0]! + quarters[1]!);
      expect(logNormalizer(logits)).toEqual({ max, logSum: log32(sum) });
    },
  );

  it('is stable for logits far from 0', () => {
    for (const shift of [-1000, 1000, 65536]) {
      const logits = Float32Array.of(shift, shift + 1, shift + 2);
      const normalizer = logNormalizer(logits);
      expect(logProbability(shift + 2, normalizer)).toBeCloseTo(-0.40760597, 6);
    }
  });
});

describe('logProbability', () => {
  it('is the log-softmax, within what f32 sums explain', () => {
    // Lanes of 128 values each: at most 128 + 3 roundings of 2^-24 in the sum, 2 ulp in exp32, one rounding of a value up
    // to 32 (2^-20) in each of the two subtractions.
    const tolerance = 135 * 2 ** -24 + 2 * 2 ** -20;
    const logits = randomRow(1024, 5);
    const max = Math.max(...logits);
    const logSum = Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - max), 0));
    const normalizer = logNormalizer(logits);
    for (const logit of logits) {
      expect(Math.abs(logProbability(logit, normalizer) - (logit - max - logSum))).toBeLessThan(tolerance);
    }
  });

  it('is 0 where there is one token only', () => {
    expect(logProbability(-3, logNormalizer(Float32Array.of(-3)))).toBe(0);
  });
});
