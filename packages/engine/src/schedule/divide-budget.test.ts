import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Demand, divideBudget } from './divide-budget.ts';

const decode = (numProposals = 0): Demand => ({ numTokens: 1, numProposals, numWithoutRow: 0, priority: 0 });
const prefill = (numTokens: number, priority = 0): Demand => ({
  numTokens,
  numProposals: 0,
  numWithoutRow: numTokens - 1,
  priority,
});
const scored = (numTokens: number): Demand => ({ numTokens, numProposals: 0, numWithoutRow: 0, priority: 0 });

const budget = { maxTokens: 64, maxOutputRows: 16, maxPrefillTokens: 32, maxLowPrefillTokens: 4 };
const granted = (demands: Demand[], limits = budget) =>
  divideBudget(demands, limits).map(({ numTokens, numProposals }) => [numTokens, numProposals]);

describe('divideBudget', () => {
  it('gives a token to each that decodes, wherever it stands, and the rest to prefill', () => {
    expect(granted([prefill(100), decode(), decode()])).toEqual([
      [32, 0],
      [1, 0],
      [1, 0],
    ]);
  });

  it('lets a short prompt through beside a long one', () => {
    expect(granted([prefill(1000), prefill(10)])).toEqual([
      [22, 0],
      [10, 0],
    ]);
    expect(granted([prefill(1000), prefill(1000), prefill(1000)])).toEqual([
      [16, 0],
      [8, 0],
      [8, 0],
    ]);
  });

  it('gives prefill of lower priority what the higher one leaves', () => {
    expect(granted([prefill(1000), prefill(1000, -1)])).toEqual([
      [32, 0],
      [0, 0],
    ]);
    expect(granted([prefill(10), prefill(20), prefill(1000, -1), prefill(1000, -1)])).toEqual([
      [10, 0],
      [20, 0],
      [1, 0],
      [1, 0],
    ]);
  });

  it('keeps prefill of lower priority small beside those who decode, and not when it is alone', () => {
    expect(granted([decode(), prefill(1000, -1), prefill(1000, -1)])).toEqual([
      [1, 0],
      [2, 0],
      [2, 0],
    ]);
    expect(granted([prefill(1000, -1)])).toEqual([[32, 0]]);
  });

  it('gives proposals the rows that nobody else needs', () => {
    const limits = { ...budget, maxOutputRows: 6 };
    expect(granted([decode(4), decode(4), prefill(20)], limits)).toEqual([
      [1, 3],
      [1, 0],
      [20, 0],
    ]);
  });

  it('gives scored tokens no more than there are rows', () => {
    expect(granted([decode(), scored(40)])).toEqual([
      [1, 0],
      [15, 0],
    ]);
  });

  it('stays within every limit, and lets nobody in front wait for those behind', () => {
    const demand = fc.oneof(
      fc.nat(6).map(decode),
      fc
        .tuple(fc.integer({ min: 2, max: 300 }), fc.integer({ min: -2, max: 0 }))
        .map(([n, priority]) => prefill(n, priority)),
      fc.integer({ min: 2, max: 50 }).map(scored),
    );
    const limits = fc.record({
      maxTokens: fc.integer({ min: 1, max: 80 }),
      maxOutputRows: fc.integer({ min: 1, max: 20 }),
      maxPrefillTokens: fc.integer({ min: 1, max: 80 }),
      maxLowPrefillTokens: fc.integer({ min: 1, max: 80 }),
    });
    fc.assert(
      fc.property(fc.array(demand, { minLength: 1, maxLength: 12 }), limits, (demands, limits) => {
        const grants = divideBudget(demands, limits);
        const sum = (numbers: number[]) => numbers.reduce((a, b) => a + b, 0);
        const rows = grants.map(({ numTokens, numProposals }, i) =>
          Math.max(0, numTokens + numProposals - demands[i]!.numWithoutRow),
        );
        expect(sum(grants.map((grant) => grant.numTokens + grant.numProposals))).toBeLessThanOrEqual(limits.maxTokens);
        expect(sum(rows)).toBeLessThanOrEqual(limits.maxOutputRows);
        const prefills = grants.filter((_, i) => demands[i]!.numTokens > 1);
        expect(sum(prefills.map((grant) => grant.numTokens))).toBeLessThanOrEqual(limits.maxPrefillTokens);
        for (const [i, { numTokens, numProposals }] of grants.entries()) {
          expect(numTokens).toBeLessThanOrEqual(demands[i]!.numTokens);
          expect(numProposals).toBeLessThanOrEqual(demands[i]!.numProposals);
          if (numTokens === 0) expect(numProposals).toBe(0);
        }
        // Somebody always gets on.
        expect(sum(grants.map((grant) => grant.numTokens))).toBeGreaterThan(0);
      }),
    );
  });
});
