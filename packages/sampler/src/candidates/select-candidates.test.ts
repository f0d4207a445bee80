import '../__fixtures__/fixed-seed.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { idsOf, randomRow } from '../__fixtures__/rows.ts';
import { Candidates } from './candidates.ts';
import { SelectionBuffers, selectCandidates } from './select-candidates.ts';

function select(logits: Float32Array, limit: number, floor = Number.NEGATIVE_INFINITY): number[] {
  const candidates = new Candidates();
  selectCandidates(logits, { limit, floor }, candidates, new SelectionBuffers());
  const tokenIds = idsOf(candidates);
  expect([...candidates.logits.subarray(0, candidates.length)]).toEqual(tokenIds.map((tokenId) => logits[tokenId]!));
  return tokenIds;
}

/** The definition: sort the whole row, cut it. */
function sortAndCut(logits: Float32Array, limit: number, floor = Number.NEGATIVE_INFINITY): number[] {
  return [...logits.keys()]
    .filter((tokenId) => logits[tokenId]! > floor)
    .sort((a, b) => logits[b]! - logits[a]! || a - b)
    .slice(0, limit);
}

const value = fc.oneof(
  fc.constantFrom(0, -0, 1, -1, 2 ** -149, -(2 ** -149), 3e38, -3e38, Number.NEGATIVE_INFINITY),
  fc.float({ noNaN: true, noDefaultInfinity: true }),
);

describe('selectCandidates', () => {
  it('orders by logit descending, then id ascending, with -0 equal to 0', () => {
    expect(select(Float32Array.of(1, -0, 3, 0, -2, 3, -0), 7)).toEqual([2, 5, 0, 1, 3, 6, 4]);
  });

  it('never takes a banned token', () => {
    const banned = Number.NEGATIVE_INFINITY;
    expect(select(Float32Array.of(banned, -3e38, banned), 3)).toEqual([1]);
    expect(select(Float32Array.of(banned, banned), 2)).toEqual([]);
  });

  it('equals sorting and cutting, for small rows of awkward values', () => {
    fc.assert(
      fc.property(
        fc.array(value, { minLength: 1, maxLength: 100 }),
        fc.integer({ min: 1, max: 100 }),
        value,
        (row, limit, floor) => {
          const logits = Float32Array.from(row);
          expect(select(logits, limit, floor)).toEqual(sortAndCut(logits, limit, floor));
        },
      ),
    );
  });

  it('equals sorting and cutting where the buffer overflows many times', () => {
    const length = 10_000;
    const rising = Float32Array.from({ length }, (_, i) => i * 0.25);
    const rows = {
      random: randomRow(length, 1),
      rising,
      falling: rising.slice().reverse(),
      equal: new Float32Array(length).fill(1.5),
      ties: randomRow(length, 2).map(Math.round),
    };
    for (const [name, logits] of Object.entries(rows)) {
      for (const limit of [1, 40, 1023, 1024, 1025, length]) {
        expect(select(logits, limit), `${name}, limit ${limit}`).toEqual(sortAndCut(logits, limit));
      }
    }
  });

  it('holds 2,048 entries for a top-k of 40, whatever the row: it cannot have sorted it', () => {
    const buffers = new SelectionBuffers();
    const rising = Float32Array.from({ length: 150_000 }, (_, i) => i);
    selectCandidates(rising, { limit: 40, floor: Number.NEGATIVE_INFINITY }, new Candidates(), buffers);
    expect(buffers.keys.length).toBe(2048);
  });

  it('reads a row in the middle of a larger buffer', () => {
    const matrix = Float32Array.of(9, 9, 9, 1, 3, 2, 9, 9, 9);
    expect(select(matrix.subarray(3, 6), 2)).toEqual([1, 2]);
  });
});
