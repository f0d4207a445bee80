import { describe, expect, it } from 'vitest';
import { candidatesOf, idsOf } from '../__fixtures__/rows.ts';

describe('Candidates', () => {
  it('keeps all four arrays in step', () => {
    const candidates = candidatesOf([0.4, 0.3, 0.2, 0.1]);
    const { logits, scaledLogits, weights } = candidates;
    const before = [logits[3], scaledLogits[3], weights[3]];
    candidates.keep((index) => index % 2 === 1);
    expect(idsOf(candidates)).toEqual([1, 3]);
    expect([logits[1], scaledLogits[1], weights[1]]).toEqual(before);
  });

  it('never becomes empty and never grows', () => {
    const candidates = candidatesOf([0.5, 0.3, 0.2]);
    candidates.truncate(10);
    expect(idsOf(candidates)).toEqual([0, 1, 2]);
    candidates.keep(() => false);
    expect(idsOf(candidates)).toEqual([0]);
    candidates.truncate(0);
    expect(idsOf(candidates)).toEqual([0]);
  });

  it('adds weights in order, rounding to f32 each time', () => {
    // 1 + 2^-24 is a tie that goes back to 1, twice; added from the small end they would be 1 + 2^-23.
    const candidates = candidatesOf([0.5, 0.25, 0.25]);
    candidates.weights.set([1, 2 ** -24, 2 ** -24]);
    expect(candidates.totalWeight()).toBe(1);
  });
});
