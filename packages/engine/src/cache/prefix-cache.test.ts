import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockPool } from './block-pool.ts';
import { PrefixCache } from './prefix-cache.ts';
import { SequenceBlocks } from './sequence-blocks.ts';

const blockSize = 4;

function setUp(numBlocks = 16) {
  const pool = new BlockPool(numBlocks);
  const cache = new PrefixCache(pool, blockSize);
  /** The blocks of a sequence that was computed and published. */
  const computed = (tokenIds: readonly number[], salt = ''): SequenceBlocks => {
    const blocks = new SequenceBlocks(pool, blockSize, cache, salt);
    blocks.growTo(tokenIds.length, 0);
    pool.finishPreparations(pool.takePreparations());
    blocks.publish(tokenIds, tokenIds.length);
    return blocks;
  };
  const found = (tokenIds: readonly number[], salt = '', maxTokens = tokenIds.length): number[] => {
    const blocks = cache.match(tokenIds, salt, maxTokens).map(({ block }) => block);
    pool.release([...blocks].reverse());
    return blocks;
  };
  return { pool, cache, computed, found };
}

const text = (length: number, first = 0) => Array.from({ length }, (_, i) => first + i);

describe('PrefixCache', () => {
  it.each([
    [3, 3, 0],
    [4, 4, 1],
    [11, 11, 2],
    [12, 12, 3],
    [20, 20, 3],
    [12, 11, 2],
    [12, 3, 0],
    [12, 0, 0],
  ])('finds of %i tokens, at most %i, %i blocks', (length, maxTokens, numBlocks) => {
    const { computed, found } = setUp();
    const { table } = computed(text(13));
    expect(found(text(length), '', maxTokens)).toEqual(table.slice(0, numBlocks));
  });

  it('gives the caller a reference to each block', () => {
    const { pool, cache, computed } = setUp();
    const { table } = computed(text(8));
    cache.match(text(8), '', 8);
    pool.checkIntegrity([...table, ...table]);
  });

  it('ends at the first block that differs, though later ones are equal', () => {
    const { computed, found } = setUp();
    const { table } = computed([1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3]);
    computed([9, 9, 9, 9]);
    expect(found([1, 1, 1, 1, 2, 2, 2, 0, 3, 3, 3, 3])).toEqual(table.slice(0, 1));
    expect(found([9, 9, 9, 9, 2, 2, 2, 2])).toHaveLength(1);
    expect(found([2, 2, 2, 2])).toEqual([]);
  });

  it('keeps salts apart', () => {
    const { cache, computed, found } = setUp();
    const a = computed(text(8), 'a');
    const b = computed(text(8), 'b');
    expect(found(text(8), 'a')).toEqual(a.table);
    expect(found(text(8), 'b')).toEqual(b.table);
    expect(found(text(8))).toEqual([]);
    cache.checkIntegrity();
  });

  it('keeps the first of two equal blocks, and what follows either', () => {
    const { pool, cache, computed, found } = setUp();
    const first = computed(text(4));
    const second = computed(text(8));
    expect(found(text(8))).toEqual([first.table[0], second.table[1]]);
    expect(pool.isPublished(second.table[0]!)).toBe(false);
    cache.checkIntegrity();
  });

  it('never takes two texts for one', () => {
    const tokens = fc.array(fc.integer({ min: 0, max: 200_000 }), { minLength: blockSize, maxLength: blockSize });
    const similar = fc.array(fc.constantFrom(0, 1, 11, 111, 10, 101), { minLength: blockSize, maxLength: blockSize });
    fc.assert(
      fc.property(fc.oneof(tokens, similar), fc.oneof(tokens, similar), (a, b) => {
        const { computed, found } = setUp();
        computed(a);
        expect(found(b)).toHaveLength(a.every((id, i) => id === b[i]) ? 1 : 0);
      }),
      {
        examples: [
          [
            [1, 11, 0, 0],
            [11, 1, 0, 0],
          ],
        ],
      },
    );
  });

  it('loses the end of a text first', () => {
    const { pool, computed, found } = setUp(3);
    const blocks = computed(text(12));
    const table = [...blocks.table];
    blocks.release();
    pool.allocate(1);
    expect(found(text(12))).toEqual(table.slice(0, 2));
  });

  it('loses the least recently used text first', () => {
    const { pool, computed, found } = setUp(5);
    const old = computed(text(12));
    const young = computed(text(8, 100));
    const oldTable = [...old.table];
    const youngTable = [...young.table];
    old.release();
    young.release();
    const numLeft = [5, 4, 3, 2, 1, 0].map((left) => {
      if (left < 5) pool.allocate(1);
      return [found(text(12)), found(text(8, 100))];
    });
    // Looking for them touches both, the young one last.
    expect(numLeft).toEqual([
      [oldTable, youngTable],
      [oldTable.slice(0, 2), youngTable],
      [oldTable.slice(0, 1), youngTable],
      [[], youngTable],
      [[], youngTable.slice(0, 1)],
      [[], []],
    ]);
  });

  it('forgets what follows an evicted block, also where another owns it', () => {
    const { pool, cache, computed, found } = setUp(5);
    const first = computed(text(4));
    const second = computed(text(12));
    const third = computed(text(4, 50));
    // The first block of `second` is not published: it counts on that of `first`.
    first.release();
    third.release();
    expect(pool.numCachedBlocks).toBe(2);
    pool.allocate(1);
    expect(found(text(12))).toEqual([]);
    expect(second.table.some((block) => pool.isPublished(block))).toBe(false);
    expect(cache.stats.numEvicted).toBe(3);
    cache.checkIntegrity();
  });

  it('publishes a text again, from the block on that was evicted', () => {
    const { pool, cache, computed, found } = setUp(4);
    const first = computed(text(4));
    const second = computed(text(8));
    first.release();
    pool.release(pool.allocate(2));
    expect(found(text(8))).toEqual([]);
    second.growTo(12, 8);
    pool.finishPreparations(pool.takePreparations());
    second.publish(text(12), 12);
    expect(found(text(12))).toEqual(second.table);
    cache.checkIntegrity();
  });

  it('remembers no salt under which nothing is left', () => {
    const { pool, cache, computed } = setUp(2);
    for (const salt of ['a', 'b', 'c']) computed(text(8), salt).release();
    pool.allocate(2);
    cache.checkIntegrity();
  });

  it('counts what was looked for and found beyond what the caller has', () => {
    const { cache, computed } = setUp();
    computed(text(12));
    cache.match(text(14), '', 13);
    expect(cache.stats).toMatchObject({ lookupTokens: 13, hitTokens: 12 });
    cache.match(text(14), '', 13, 5);
    expect(cache.stats).toMatchObject({ lookupTokens: 21, hitTokens: 19 });
    expect(cache.match(text(14), '', 13, 12)).toEqual([]);
    expect(cache.stats).toMatchObject({ lookupTokens: 22, hitTokens: 19 });
  });
});
