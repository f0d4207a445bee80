import { describe, expect, it } from 'vitest';
import { BlockPool } from './block-pool.ts';
import { PrefixCache } from './prefix-cache.ts';
import { SequenceBlocks } from './sequence-blocks.ts';

const blockSize = 16;

function setUp(numBlocks: number) {
  const pool = new BlockPool(numBlocks);
  const cache = new PrefixCache(pool, blockSize);
  const blocks = new SequenceBlocks(pool, blockSize, cache);
  return { pool, cache, blocks };
}

function prepare(pool: BlockPool) {
  const preparations = pool.takePreparations();
  pool.finishPreparations(preparations);
  return preparations;
}

const text = (length: number) => Array.from({ length }, (_, i) => i);

describe('SequenceBlocks', () => {
  // Awkward lengths around one and two blocks.
  it.each([
    [0, 0],
    [1, 1],
    [15, 1],
    [16, 1],
    [17, 2],
    [32, 2],
    [33, 3],
  ])('needs for %i positions %i blocks', (numPositions, numBlocks) => {
    const { pool, blocks } = setUp(20);
    expect(blocks.numMissingBlocks(numPositions, 0)).toBe(numBlocks);
    blocks.growTo(numPositions, 0);
    expect(blocks.numBlocks).toBe(numBlocks);
    expect([...prepare(pool).zero].sort()).toEqual([...blocks.table].sort());
    expect(blocks.numMissingBlocks(numPositions, 0)).toBe(0);
    pool.checkIntegrity(blocks.table);
  });

  it('keeps the blocks it has when it grows, and gives back the last ones first', () => {
    const { pool, blocks } = setUp(10);
    blocks.growTo(20, 0);
    const first = [...blocks.table];
    blocks.growTo(50, 20);
    expect(blocks.table.slice(0, 2)).toEqual(first);
    expect(blocks.numBlocks).toBe(4);
    blocks.shrinkTo(17);
    expect(blocks.table).toEqual(first);
    blocks.release();
    expect(pool.numFreeBlocks).toBe(10);
    blocks.release();
    expect(pool.numFreeBlocks).toBe(10);
  });

  it('changes nothing when the pool has too few', () => {
    const { pool, blocks } = setUp(2);
    blocks.growTo(16, 0);
    const first = [...blocks.table];
    expect(() => blocks.growTo(64, 16)).toThrow(/3 cache blocks are needed/);
    expect(blocks.table).toEqual(first);
    expect(pool.numFreeBlocks).toBe(1);
  });

  it('copies a block that it shares before it writes into it, the other then need not', () => {
    const { pool, blocks } = setUp(4);
    blocks.growTo(20, 0);
    prepare(pool);
    const [full, partial] = blocks.table as [number, number];
    const fork = blocks.fork(20);
    expect(fork.table).toEqual([full, partial]);
    expect([fork.numMissingBlocks(21, 20), blocks.numMissingBlocks(33, 20)]).toEqual([1, 2]);
    fork.growTo(21, 20);
    expect(fork.table).toEqual([full, expect.not.toBeOneOf([full, partial])]);
    expect(prepare(pool)).toMatchObject({ copyFrom: Int32Array.of(partial), copyTo: Int32Array.of(fork.table[1]!) });
    expect(blocks.numMissingBlocks(21, 20)).toBe(0);
    pool.checkIntegrity([...blocks.table, ...fork.table]);
  });

  it('copies nothing when the other has gone', () => {
    const { blocks } = setUp(4);
    blocks.growTo(20, 0);
    const fork = blocks.fork(20);
    blocks.release();
    expect(fork.numMissingBlocks(21, 20)).toBe(0);
  });

  it('takes new blocks without a copy for those that it writes from their start', () => {
    const { pool, blocks } = setUp(8);
    blocks.growTo(48, 0);
    prepare(pool);
    const [first] = blocks.table;
    const fork = blocks.fork(48);
    expect(fork.numMissingBlocks(48, 16)).toBe(2);
    fork.growTo(48, 16);
    expect(fork.table[0]).toBe(first);
    expect(prepare(pool)).toMatchObject({ zero: { length: 2 }, copyTo: { length: 0 } });
    pool.checkIntegrity([...blocks.table, ...fork.table]);
  });

  it('forks only what it is asked for', () => {
    const { pool, blocks } = setUp(8);
    blocks.growTo(48, 0);
    const fork = blocks.fork(17);
    expect(fork.table).toEqual(blocks.table.slice(0, 2));
    pool.checkIntegrity([...blocks.table, ...fork.table]);
  });

  it('copies what it published when it is cut back into it, and the published block stays', () => {
    const { pool, cache, blocks } = setUp(4);
    blocks.growTo(32, 0);
    prepare(pool);
    blocks.publish(text(32), 32);
    const published = [...blocks.table];
    blocks.shrinkTo(20);
    blocks.growTo(21, 20);
    expect(blocks.table[0]).toBe(published[0]);
    expect(prepare(pool)).toMatchObject({
      copyFrom: Int32Array.of(published[1]!),
      copyTo: Int32Array.of(blocks.table[1]!),
    });
    expect(cache.match(text(32), '', 32).map(({ block }) => block)).toEqual(published);
  });

  it('publishes the text that it was given after it was cut back', () => {
    const { pool, cache, blocks } = setUp(8);
    blocks.growTo(32, 0);
    prepare(pool);
    blocks.publish(text(32), 32);
    blocks.shrinkTo(20);
    blocks.growTo(32, 20);
    prepare(pool);
    const other = [...text(20), ...new Array(12).fill(7)];
    blocks.publish(other, 32);
    expect(cache.match(other, '', 32).map(({ block }) => block)).toEqual(blocks.table);
    cache.checkIntegrity();
  });

  it('knows that what it writes again is another text, though it was not cut back', () => {
    const { pool, cache, blocks } = setUp(8);
    blocks.growTo(32, 0);
    prepare(pool);
    blocks.publish(text(32), 32);
    blocks.growTo(32, 20);
    prepare(pool);
    const other = [...text(20), ...new Array(12).fill(7)];
    blocks.publish(other, 32);
    expect(cache.match(other, '', 32).map(({ block }) => block)).toEqual(blocks.table);
    cache.checkIntegrity();
  });

  it('takes a published prefix when it is longer than what it has', () => {
    const { pool, cache, blocks } = setUp(8);
    blocks.growTo(40, 0);
    prepare(pool);
    blocks.publish(text(40), 40);
    const other = new SequenceBlocks(pool, blockSize, cache);
    other.growTo(20, 0);
    expect(other.attachPrefix(text(40), 39, 32)).toBe(32);
    expect(other.table).not.toEqual(blocks.table.slice(0, 2));
    expect(other.attachPrefix(text(40), 31, 17)).toBe(17);
    expect(other.attachPrefix(text(40), 39, 20)).toBe(32);
    expect(other.table).toEqual(blocks.table.slice(0, 2));
    pool.checkIntegrity([...blocks.table, ...other.table]);
  });

  it('publishes what follows a prefix that it took, whatever it published before', () => {
    const { pool, cache, blocks } = setUp(12);
    const other = new SequenceBlocks(pool, blockSize, cache);
    const reversed = text(64).reverse();
    for (const [sequence, tokenIds] of [[blocks, text(48)] as const, [other, reversed.slice(0, 32)] as const]) {
      sequence.growTo(tokenIds.length, 0);
      prepare(pool);
      sequence.publish(tokenIds, tokenIds.length);
    }
    blocks.release();
    expect(blocks.attachPrefix(reversed, 63, 0)).toBe(32);
    blocks.growTo(64, 32);
    prepare(pool);
    blocks.publish(reversed, 64);
    expect(cache.match(reversed, '', 64).map(({ block }) => block)).toEqual(blocks.table);
  });

  it('neither publishes nor finds without a prefix cache', () => {
    const pool = new BlockPool(4);
    const blocks = new SequenceBlocks(pool, blockSize);
    blocks.growTo(32, 0);
    prepare(pool);
    blocks.publish(text(32), 32);
    expect(blocks.attachPrefix(text(32), 32, 3)).toBe(3);
    blocks.release();
    expect(pool.numFreeBlocks).toBe(4);
  });
});
