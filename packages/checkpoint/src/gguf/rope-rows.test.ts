import { InvalidModelError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { ropeRowOrder } from './rope-rows.ts';

describe('ropeRowOrder', () => {
  it('finds the two halves of each head at even and odd rows of the file', () => {
    expect([...ropeRowOrder(12, 2, 'q')]).toEqual([0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]);
  });

  it('undoes what the converter does: reshape to [heads, 2, headDim / 2], swap the last two, flatten', () => {
    const [numHeads, headDim] = [3, 8];
    const rows = numHeads * headDim;
    const stored: number[] = [];
    for (let head = 0; head < numHeads; head++) {
      for (let pair = 0; pair < headDim / 2; pair++) {
        for (const half of [0, 1]) stored.push(head * headDim + half * (headDim / 2) + pair);
      }
    }
    const order = ropeRowOrder(rows, numHeads, 'q');
    expect(Array.from(order, (row) => stored[row])).toEqual(Array.from({ length: rows }, (_, i) => i));
  });

  it('refuses rows that are not whole heads of pairs', () => {
    expect(() => ropeRowOrder(10, 4, 'blk.0.attn_q.weight')).toThrow(InvalidModelError);
    expect(() => ropeRowOrder(9, 3, 'blk.0.attn_q.weight')).toThrow(/"blk\.0\.attn_q\.weight" has 9 rows/);
    expect(() => ropeRowOrder(8, 0, 'blk.0.attn_q.weight')).toThrow(InvalidModelError);
  });
});
