import './__fixtures__/fixed-seed.ts';
import { exp32, NumericError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candidatesFromLogits, candidatesOf } from './__fixtures__/rows.ts';
import { drawCandidate } from './draw-candidate.ts';

describe('drawCandidate', () => {
  it('takes the first candidate whose running weight exceeds u times the total', () => {
    const candidates = candidatesOf([0.5, 0.25, 0.25]);
    candidates.weights.set([2, 1, 1]);
    expect(drawCandidate(candidates, 0)).toBe(0);
    expect(drawCandidate(candidates, 0.5 - 2 ** -24)).toBe(0);
    expect(drawCandidate(candidates, 0.5)).toBe(1);
    expect(drawCandidate(candidates, 0.75 - 2 ** -24)).toBe(1);
    expect(drawCandidate(candidates, 0.75)).toBe(2);
    expect(drawCandidate(candidates, 1 - 2 ** -24)).toBe(2);
  });

  it('always finds one, for the largest u and any total', () => {
    const rows = fc.array(fc.float({ min: -20, max: 20, noNaN: true }), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(rows, (row) => {
        const candidates = candidatesFromLogits(Float32Array.from(row));
        expect(() => drawCandidate(candidates, 1 - 2 ** -24)).not.toThrow();
      }),
    );
  });

  it('refuses weights that a custom processor has spoiled', () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const candidates = candidatesOf([0.5, 0.5]);
      candidates.weights[0] = bad;
      expect(() => drawCandidate(candidates, 0.5)).toThrow(NumericError);
    }
    const candidates = candidatesOf([0.5, 0.5]);
    candidates.weights.fill(0);
    expect(() => drawCandidate(candidates, 0.5)).toThrow('add up to 0');
  });

  it('draws in proportion to the weights', () => {
    // Every u of 12 bits once: the share of each candidate is its probability up to one step of u.
    const logits = Float32Array.of(2, 1, 0, -1);
    const total = logits.reduce((sum, logit) => sum + exp32(logit), 0);
    const counts = [0, 0, 0, 0];
    for (let i = 0; i < 4096; i++) counts[drawCandidate(candidatesFromLogits(logits), i / 4096)]!++;
    for (const [tokenId, count] of counts.entries()) {
      expect(Math.abs(count / 4096 - exp32(logits[tokenId]!) / total)).toBeLessThanOrEqual(1 / 4096);
    }
  });
});
