import { describe, expect, it } from 'vitest';
import { BlockPool } from './block-pool.ts';
import { SequenceBlocks } from './sequence-blocks.ts';

describe('SequenceBlocks', () => {
  // Awkward lengths around one and two blocks of 16.
  it.each([
    [0, 0],
    [1, 1],
    [15, 1],
    [16, 1],
    [17, 2],
    [32, 2],
    [33, 3],
  ])('needs for %i positions %i blocks per group', (numPositions, perGroup) => {
    const pool = new BlockPool(20);
    const blocks = new SequenceBlocks(pool, 16, 2);
    expect(blocks.numMissingBlocks(numPositions)).toBe(2 * perGroup);
    expect(blocks.growTo(numPositions)).toHaveLength(2 * perGroup);
    expect(blocks.tables.map((table) => table.length)).toEqual([perGroup, perGroup]);
    pool.checkIntegrity(blocks.tables.flat());
  });

  it('keeps the blocks it has when it grows, and gives back the last ones first', () => {
    const pool = new BlockPool(10);
    const blocks = new SequenceBlocks(pool, 16, 1);
    const first = blocks.growTo(20);
    const more = blocks.growTo(50);
    expect(blocks.tables).toEqual([[...first, ...more]]);
    blocks.shrinkTo(17);
    expect(blocks.tables).toEqual([first]);
    blocks.release();
    expect(pool.numFreeBlocks).toBe(10);
    blocks.release();
    expect(pool.numFreeBlocks).toBe(10);
  });

  it('changes nothing when the pool has too few', () => {
    const pool = new BlockPool(2);
    const blocks = new SequenceBlocks(pool, 16, 1);
    const first = blocks.growTo(16);
    expect(() => blocks.growTo(64)).toThrow(/3 cache blocks are needed/);
    expect(blocks.tables).toEqual([first]);
    expect(pool.numFreeBlocks).toBe(1);
  });
});
