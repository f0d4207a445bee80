import '../__fixtures__/fixed-seed.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { candidatesFromLogits, candidatesOf, idsOf, noContext } from '../__fixtures__/rows.ts';
import { Candidates } from '../candidates/candidates.ts';
import { minP } from './min-p.ts';
import type { CandidateProcessor } from './processor.ts';
import { temperature } from './temperature.ts';
import { topP } from './top-p.ts';
import { typicalP } from './typical-p.ts';

const fround = Math.fround;
const rows = fc
  .array(fc.float({ min: -30, max: 30, noNaN: true }), { minLength: 1, maxLength: 60 })
  .map((row) => Float32Array.from(row));
const shares = fc.double({ min: 0, max: 1, noNaN: true });

function kept(processor: CandidateProcessor, candidates: Candidates): number[] {
  processor.process(candidates, noContext);
  return idsOf(candidates);
}

/** Running f32 sums of the weights, in candidate order. */
function runningSums(candidates: Candidates): number[] {
  let sum = 0;
  return [...candidates.weights.subarray(0, candidates.length)].map((weight) => {
    sum = fround(sum + weight);
    return sum;
  });
}

describe('temperature', () => {
  function scaled(logits: number[], value: number): { scaledLogits: number[]; weights: number[] } {
    const candidates = new Candidates();
    candidates.reset(logits.length);
    candidates.length = logits.length;
    candidates.logits.set(logits);
    temperature(value).process(candidates, noContext);
    return {
      scaledLogits: [...candidates.scaledLogits.subarray(0, candidates.length)],
      weights: [...candidates.weights.subarray(0, candidates.length)],
    };
  }

  it('subtracts the best logit, then divides', () => {
    expect(scaled([5, 3, 1], 2).scaledLogits).toEqual([0, -1, -2]);
    expect(scaled([5, 3, 1], 2).weights[0]).toBe(1);
  });

  it('keeps only the best one, and its ties, where everything else is too far below', () => {
    expect(scaled([5, 5, 4.999], 1e-6).weights).toEqual([1, 1]);
    expect(scaled([5, 4], 0.01).weights).toEqual([1]);
  });

  it('never makes NaN: huge temperatures, logits at the ends of f32', () => {
    expect(scaled([3, 2, -50], 1e308).weights).toEqual([1, 1, 1]);
    expect(scaled([3.4e38, 3.3e38, -3.4e38], 1e308).weights.every((weight) => weight > 0 && weight <= 1)).toBe(true);
    expect(scaled([3.4e38, -3.4e38], 1).weights).toEqual([1]);
    expect(scaled([-3.4e38, -3.4e38], 1e-9).weights).toEqual([1, 1]);
  });

  it('ends the list where the running sum stops growing, which no later weight could change', () => {
    fc.assert(
      fc.property(rows, (row) => {
        const logits = row.slice().sort().reverse();
        const { weights } = scaled([...logits], 1);
        let sum = 0;
        for (const weight of weights) {
          expect(fround(sum + weight)).toBeGreaterThan(sum);
          sum = fround(sum + weight);
        }
        if (weights.length < logits.length) {
          // The next one: exp(-17.3) = 3.1e-8 is half of the last place of a sum of 1; larger sums end earlier.
          const next = logits[weights.length]! - logits[0]!;
          expect(next).toBeLessThan(-12);
          expect(Math.exp(next)).toBeLessThan(sum * 2 ** -23);
        }
      }),
    );
  });
});

describe('topP', () => {
  it('keeps the fewest best tokens that reach the share', () => {
    const probabilities = [0.5, 0.3, 0.15, 0.05];
    expect(kept(topP(0.4), candidatesOf(probabilities))).toEqual([0]);
    expect(kept(topP(0.6), candidatesOf(probabilities))).toEqual([0, 1]);
    expect(kept(topP(0.9), candidatesOf(probabilities))).toEqual([0, 1, 2]);
    expect(kept(topP(0.99), candidatesOf(probabilities))).toEqual([0, 1, 2, 3]);
    expect(kept(topP(0), candidatesOf(probabilities))).toEqual([0]);
  });

  it('keeps the smallest prefix whose mass reaches it', () => {
    fc.assert(
      fc.property(rows, shares, (row, share) => {
        const all = candidatesFromLogits(row);
        const sums = runningSums(all);
        const before = idsOf(all);
        const wanted = fround(fround(share) * sums.at(-1)!);
        const after = kept(topP(share), all);
        expect(after).toEqual(before.slice(0, after.length));
        expect(sums[after.length - 1]!).toBeGreaterThanOrEqual(wanted);
        if (after.length > 1) expect(sums[after.length - 2]!).toBeLessThan(wanted);
      }),
    );
  });
});

describe('minP', () => {
  it('compares with the best token', () => {
    const probabilities = [0.5, 0.3, 0.15, 0.05];
    expect(kept(minP(0.5), candidatesOf(probabilities))).toEqual([0, 1]);
    expect(kept(minP(0.2), candidatesOf(probabilities))).toEqual([0, 1, 2]);
    expect(kept(minP(0.05), candidatesOf(probabilities))).toEqual([0, 1, 2, 3]);
  });

  it('keeps the best token and its ties at 1', () => {
    expect(kept(minP(1), candidatesFromLogits(Float32Array.of(1, 3, 2, 3)))).toEqual([1, 3]);
  });

  it('keeps exactly the tokens at or above the bound', () => {
    fc.assert(
      fc.property(rows, shares, (row, share) => {
        const all = candidatesFromLogits(row);
        const least = fround(fround(share) * all.weights[0]!);
        const expected = idsOf(all).filter((_, i) => all.weights[i]! >= least);
        expect(kept(minP(share), all)).toEqual(expected);
      }),
    );
  });
});

describe('typicalP', () => {
  it('prefers tokens of average surprise to the best one', () => {
    // Entropy of (0.6, 0.1, 0.1, 0.1, 0.1) is 1.228; surprises are 0.511 and 2.303, so distances are 0.717 and 1.075.
    expect(kept(typicalP(0.5), candidatesOf([0.6, 0.1, 0.1, 0.1, 0.1]))).toEqual([0]);
    // Entropy of (0.5, 0.2, 0.2, 0.1) is 1.221; surprises 0.693, 1.609, 1.609, 2.303: distances 0.528, 0.389, 0.389, 1.08.
    expect(kept(typicalP(0.3), candidatesOf([0.5, 0.2, 0.2, 0.1]))).toEqual([1, 2]);
    expect(kept(typicalP(0.1), candidatesOf([0.5, 0.2, 0.2, 0.1]))).toEqual([1]);
    expect(kept(typicalP(0.8), candidatesOf([0.5, 0.2, 0.2, 0.1]))).toEqual([0, 1, 2]);
    expect(kept(typicalP(0.95), candidatesOf([0.5, 0.2, 0.2, 0.1]))).toEqual([0, 1, 2, 3]);
  });

  it('keeps one token at 0, and order always', () => {
    fc.assert(
      fc.property(rows, shares, (row, share) => {
        const before = idsOf(candidatesFromLogits(row));
        expect(kept(typicalP(0), candidatesFromLogits(row))).toHaveLength(1);
        const after = kept(typicalP(share), candidatesFromLogits(row));
        expect(after.length).toBeGreaterThan(0);
        expect(before.filter((tokenId) => after.includes(tokenId))).toEqual(after);
      }),
    );
  });

  it('keeps enough mass, no token less typical than a dropped one, and not one too many', () => {
    fc.assert(
      fc.property(rows, fc.double({ min: 0.01, max: 0.99, noNaN: true }), (row, share) => {
        const all = candidatesFromLogits(row);
        const weights = [...all.weights.subarray(0, all.length)];
        const total = weights.reduce((sum, weight) => sum + weight, 0);
        const probabilities = new Map(idsOf(all).map((tokenId, i) => [tokenId, weights[i]! / total]));
        const entropy = [...probabilities.values()].reduce((sum, p) => sum - p * Math.log(p), 0);
        const distance = (tokenId: number) => Math.abs(-Math.log(probabilities.get(tokenId)!) - entropy);

        // This is double arithmetic: up to 60 f32 sums, and distances up to 30, explain 60 * 2^-24 and a few times 2^-20.
        const tolerance = 1e-5;
        const after = kept(typicalP(share), all);
        const mass = after.reduce((sum, tokenId) => sum + probabilities.get(tokenId)!, 0);
        expect(mass).toBeGreaterThanOrEqual(share - tolerance);

        const farthest = Math.max(...after.map(distance));
        const dropped = [...probabilities.keys()].filter((tokenId) => !after.includes(tokenId));
        for (const tokenId of dropped) expect(distance(tokenId)).toBeGreaterThanOrEqual(farthest - tolerance);

        // The last one taken is among the farthest; without it the share was not reached.
        const lastTaken = after.filter((tokenId) => distance(tokenId) >= farthest - tolerance);
        const masses = lastTaken.map((tokenId) => mass - probabilities.get(tokenId)!);
        if (after.length > 1) expect(Math.min(...masses)).toBeLessThan(share + tolerance);
      }),
    );
  });
});
