import { InvalidArgumentError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CacheExhaustedError } from '../errors.ts';
import { BlockPool } from './block-pool.ts';

describe('BlockPool', () => {
  it('hands out every block once', () => {
    const pool = new BlockPool(5);
    const blocks = [...pool.allocate(2), ...pool.allocate(3)];
    expect(blocks.sort()).toEqual([0, 1, 2, 3, 4]);
    expect(pool.numFreeBlocks).toBe(0);
    expect(pool.canAllocate(0)).toBe(true);
    expect(pool.canAllocate(1)).toBe(false);
  });

  it('takes nothing when there are too few', () => {
    const pool = new BlockPool(3);
    pool.allocate(1);
    expect(() => pool.allocate(3)).toThrow(CacheExhaustedError);
    expect(() => pool.allocate(3)).toThrow(/3 cache blocks are needed, but only 2 of 3 are free/);
    expect(pool.numFreeBlocks).toBe(2);
  });

  it('refuses to free twice, and then frees none', () => {
    const pool = new BlockPool(4);
    const [a, b] = pool.allocate(2) as [number, number];
    pool.free([a]);
    expect(() => pool.free([b, a])).toThrow(InvalidArgumentError);
    expect(() => pool.free([b, b])).toThrow(/freed twice/);
    expect(pool.numFreeBlocks).toBe(3);
    pool.checkIntegrity([b]);
  });

  it.each([-1, 4, 1.5, Number.NaN])('refuses block %s', (block) => {
    expect(() => new BlockPool(4).free([block])).toThrow(/does not exist/);
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 60])('refuses a pool of %s blocks', (numBlocks) => {
    expect(() => new BlockPool(numBlocks)).toThrow(InvalidArgumentError);
  });

  it('notices lost, shared and doubly booked blocks', () => {
    const pool = new BlockPool(3);
    const [a, b] = pool.allocate(2) as [number, number];
    expect(() => pool.checkIntegrity([a])).toThrow(`Block ${b} is neither free nor owned`);
    expect(() => pool.checkIntegrity([a, a, b])).toThrow(`Block ${a} has 2 owners`);
    expect(() => pool.checkIntegrity([a, b, 2])).toThrow('Block 2 is owned, and free as well');
  });

  it('keeps every block free or owned once, whatever the order of calls', () => {
    const calls = fc.array(fc.tuple(fc.boolean(), fc.nat(6)), { maxLength: 40 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 12 }), calls, (numBlocks, steps) => {
        const pool = new BlockPool(numBlocks);
        const owned: number[] = [];
        for (const [isAllocation, count] of steps) {
          if (isAllocation && pool.canAllocate(count)) owned.push(...pool.allocate(count));
          else if (!isAllocation) pool.free(owned.splice(0, count));
          pool.checkIntegrity(owned);
          expect(pool.numFreeBlocks + owned.length).toBe(numBlocks);
        }
      }),
    );
  });
});
