import { InvalidArgumentError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CacheExhaustedError } from '../errors.ts';
import { BlockPool } from './block-pool.ts';
import { BlockQueue } from './block-queue.ts';
import { checkPool } from './check-pool.ts';

/** A pool with `count` blocks handed out and prepared. */
function poolWith(numBlocks: number, count: number): { pool: BlockPool; blocks: number[] } {
  const pool = new BlockPool(numBlocks);
  const blocks = pool.allocate(count);
  prepare(pool);
  return { pool, blocks };
}

function prepare(pool: BlockPool) {
  const preparations = pool.takePreparations();
  pool.finishPreparations(preparations);
  return preparations;
}

describe('BlockPool', () => {
  it('hands out every block once', () => {
    const pool = new BlockPool(5);
    const blocks = [...pool.allocate(2), ...pool.allocate(3)];
    expect(blocks.sort()).toEqual([0, 1, 2, 3, 4]);
    expect(pool.numAvailableBlocks).toBe(0);
    expect(pool.allocate(0)).toEqual([]);
  });

  it('takes nothing when there are too few', () => {
    const { pool, blocks } = poolWith(3, 1);
    expect(() => pool.allocate(3)).toThrow(CacheExhaustedError);
    expect(() => pool.allocate(3)).toThrow(/3 cache blocks are needed, but only 2 of 3 are free/);
    expect(pool.numFreeBlocks).toBe(2);
    pool.checkIntegrity(blocks);
  });

  it('frees a block with its last reference', () => {
    const { pool, blocks } = poolWith(2, 1);
    const [a] = blocks as [number];
    pool.retain([a, a]);
    expect(pool.refCount(a)).toBe(3);
    expect(pool.isWritable(a)).toBe(false);
    pool.release([a, a]);
    expect(pool.isWritable(a)).toBe(true);
    pool.checkIntegrity([a]);
    pool.release([a]);
    expect(pool.numFreeBlocks).toBe(2);
  });

  it('refuses to release more often than was retained, and then releases nothing', () => {
    const { pool, blocks } = poolWith(4, 2);
    const [a, b] = blocks as [number, number];
    pool.retain([b]);
    pool.release([a]);
    expect(() => pool.release([b, a])).toThrow(InvalidArgumentError);
    expect(() => pool.release([b, b, b])).toThrow(/Block \d is released more often/);
    expect(() => pool.release([b, 4])).toThrow(/Block 4 does not exist/);
    pool.checkIntegrity([b, b]);
  });

  it('refuses to share what is free, and then shares nothing', () => {
    const { pool, blocks } = poolWith(2, 1);
    const [a] = blocks as [number];
    expect(() => pool.retain([a, 1 - a])).toThrow(/is free, so nobody can share it/);
    pool.checkIntegrity([a]);
  });

  it.each([-1, 4, 1.5, Number.NaN])('refuses block %s', (block) => {
    const pool = new BlockPool(4);
    expect(() => pool.release([block])).toThrow(/does not exist/);
    expect(() => pool.retain([block])).toThrow(/does not exist/);
    expect(() => pool.publish(block)).toThrow(/does not exist/);
    expect(() => pool.refCount(block)).toThrow(/does not exist/);
  });

  it.each([0, -1, 1.5, Number.NaN, 2 ** 60])('refuses a pool of %s blocks', (numBlocks) => {
    expect(() => new BlockPool(numBlocks)).toThrow(InvalidArgumentError);
  });

  it('keeps published blocks, and evicts the least recently used when no other is free', () => {
    const { pool, blocks } = poolWith(4, 3);
    const [a, b, c] = blocks as [number, number, number];
    const evicted: number[] = [];
    pool.onEvict = (block) => evicted.push(block);
    for (const block of blocks) pool.publish(block);
    pool.release([b, a, c]);
    expect(pool).toMatchObject({ numFreeBlocks: 1, numCachedBlocks: 3, numOwnedBlocks: 0, numAvailableBlocks: 4 });
    pool.retain([b]);
    pool.release([b]);
    const [free, oldest] = pool.allocate(2) as [number, number];
    expect(evicted).toEqual([a]);
    expect(blocks).not.toContain(free);
    expect(oldest).toBe(a);
    expect(pool.isPublished(a)).toBe(false);
    expect(pool.allocate(2)).toEqual([c, b]);
    expect(evicted).toEqual([a, c, b]);
  });

  it('frees what is no longer published, at once or with its last reference', () => {
    const { pool, blocks } = poolWith(2, 2);
    const [a, b] = blocks as [number, number];
    pool.publish(a);
    pool.publish(b);
    pool.release([a]);
    pool.unpublish(a);
    pool.unpublish(b);
    expect(pool.numFreeBlocks).toBe(1);
    expect(pool.isWritable(b)).toBe(true);
    pool.release([b]);
    expect(pool.numFreeBlocks).toBe(2);
    expect(() => pool.unpublish(b)).toThrow(/is not published/);
  });

  it('publishes only what someone owns, was prepared, and is not published', () => {
    const { pool, blocks } = poolWith(2, 1);
    const [a] = blocks as [number];
    expect(() => pool.publish(1 - a)).toThrow(/has no owner/);
    pool.publish(a);
    expect(() => pool.publish(a)).toThrow(/is published already/);
    const [fresh] = pool.allocate(1) as [number];
    expect(() => pool.publish(fresh)).toThrow(/was never prepared/);
  });
});

describe('preparations', () => {
  it('are zeros for each new block, once', () => {
    const pool = new BlockPool(3);
    const blocks = pool.allocate(2);
    expect([...prepare(pool).zero]).toEqual(blocks);
    expect(prepare(pool).zero).toHaveLength(0);
  });

  it('are not owed by blocks that went back, or whose owner writes them whole', () => {
    const pool = new BlockPool(3);
    const [a, b, c] = pool.allocate(3) as [number, number, number];
    pool.release([a]);
    pool.markPrepared([b]);
    expect([...prepare(pool).zero]).toEqual([c]);
  });

  it('keep the source of a copy until it is made', () => {
    const { pool, blocks } = poolWith(2, 1);
    const [source] = blocks as [number];
    const [target] = pool.allocate(1) as [number];
    pool.scheduleCopy(source, target);
    pool.release([source]);
    expect(pool.numAvailableBlocks).toBe(0);
    pool.checkIntegrity([target]);
    const preparations = pool.takePreparations();
    expect(preparations).toEqual({
      zero: new Int32Array(0),
      copyFrom: Int32Array.of(source),
      copyTo: Int32Array.of(target),
    });
    pool.release([target]);
    expect(pool.numAvailableBlocks).toBe(0);
    pool.finishPreparations(preparations);
    expect(pool.numFreeBlocks).toBe(2);
  });

  it('let the source go when nobody wants the copy any more', () => {
    const { pool, blocks } = poolWith(3, 1);
    const [a] = blocks as [number];
    const [b, c] = pool.allocate(2) as [number, number];
    pool.scheduleCopy(a, b);
    pool.scheduleCopy(b, c);
    pool.release([a, b]);
    expect(pool.numFreeBlocks).toBe(0);
    pool.release([c]);
    expect(pool.numFreeBlocks).toBe(3);
    expect(prepare(pool).copyTo).toHaveLength(0);
  });

  it('make copies of copies in their order', () => {
    const { pool, blocks } = poolWith(3, 1);
    const [a] = blocks as [number];
    const [b, c] = pool.allocate(2) as [number, number];
    pool.scheduleCopy(a, c);
    pool.scheduleCopy(c, b);
    expect(prepare(pool)).toMatchObject({ copyFrom: Int32Array.of(a, c), copyTo: Int32Array.of(c, b) });
  });

  it('are not changed for a block that has its bytes', () => {
    const { pool, blocks } = poolWith(3, 2);
    const [a, b] = blocks as [number, number];
    expect(() => pool.scheduleCopy(a, b)).toThrow(/cannot become a copy/);
  });
});

describe('pins', () => {
  it('keep a block as it is, and are not the owner’s to release', () => {
    const { pool, blocks } = poolWith(1, 1);
    const [a] = blocks as [number];
    pool.pin([a]);
    expect(pool.isWritable(a)).toBe(false);
    pool.release([a]);
    expect(() => pool.release([a])).toThrow(/released more often/);
    pool.checkIntegrity([]);
    pool.unpin([a]);
    expect(pool.numFreeBlocks).toBe(1);
    expect(() => pool.unpin([a])).toThrow(/is not pinned/);
  });

  it('are dropped all or not at all', () => {
    const { pool, blocks } = poolWith(3, 2);
    const [a, b] = blocks as [number, number];
    pool.pin([a]);
    expect(() => pool.unpin([a, b])).toThrow(/is not pinned/);
    expect(() => pool.unpin([a, 7])).toThrow(/is not pinned/);
    pool.checkIntegrity([a, b]);
  });
});

describe('checkIntegrity', () => {
  it('notices owners that are not counted, and counts without an owner', () => {
    const { pool, blocks } = poolWith(3, 2);
    const [a, b] = blocks as [number, number];
    expect(() => pool.checkIntegrity([a])).toThrow(`Block ${b} has 1 references, but 0 owners and 0 pins`);
    expect(() => pool.checkIntegrity([a, a, b])).toThrow(`Block ${a} has 1 references, but 2 owners`);
    expect(() => pool.checkIntegrity([a, b, 2])).toThrow('Block 2 has 0 references, but 1 owners');
    expect(() => pool.checkIntegrity([a, b, 3])).toThrow('Block 3 is owned, but there are only 3');
  });

  const sound = () => ({
    numBlocks: 2,
    free: [0],
    cached: new BlockQueue(2),
    refCounts: Int32Array.of(0, 1),
    pins: new Int32Array(2),
    isPublished: new Uint8Array(2),
    unprepared: new Map<number, number | undefined>(),
  });

  it.each([
    ['a lost block', { free: [] }, /Block 0 is free, but not in the list/],
    ['an owned block in the list of free ones', { free: [0, 1] }, /Block 1 is owned, but in the list of free/],
    ['a block that is free twice', { free: [0, 0] }, /Block 0 is free twice/],
    [
      'a cached block outside the queue',
      { free: [], isPublished: Uint8Array.of(1, 0) },
      /Block 0 is cached, but not in/,
    ],
    ['a free block that is to be prepared', { unprepared: new Map([[0, undefined]]) }, /Block 0 has no owner/],
    ['a source that is not pinned', { unprepared: new Map([[1, 0]]) }, /Block 0 is to be copied, but is not pinned/],
    [
      'a published block without its bytes',
      { isPublished: Uint8Array.of(0, 1), unprepared: new Map([[1, undefined]]) },
      /Block 1 is published, but is to be prepared/,
    ],
  ])('notices %s', (_, damage, message) => {
    expect(() => checkPool(sound(), [1])).not.toThrow();
    expect(() => checkPool({ ...sound(), ...damage }, [1])).toThrow(message);
  });

  it('holds after any calls, refused ones too', () => {
    const kinds = ['allocate', 'retain', 'release', 'publish', 'copy', 'prepare', 'pin', 'unpin'] as const;
    const call = fc.record({ kind: fc.constantFrom(...kinds), blocks: fc.array(fc.nat(6), { maxLength: 3 }) });
    fc.assert(
      fc.property(fc.array(call, { maxLength: 60 }), (calls) => {
        const pool = new BlockPool(6);
        const owners: number[] = [];
        const run: Record<(typeof kinds)[number], (blocks: number[]) => void> = {
          allocate: (blocks) => owners.push(...pool.allocate(blocks.length)),
          retain: (blocks) => {
            pool.retain(blocks);
            owners.push(...blocks);
          },
          release: (blocks) => {
            pool.release(blocks);
            for (const block of blocks) owners.splice(owners.indexOf(block), 1);
          },
          publish: ([block = 0]) => pool.publish(block),
          copy: ([from = 0, to = 1]) => pool.scheduleCopy(from, to),
          prepare: () => prepare(pool),
          pin: (blocks) => pool.pin(blocks),
          unpin: (blocks) => pool.unpin(blocks),
        };
        for (const { kind, blocks } of calls) {
          try {
            run[kind](blocks);
          } catch (error) {
            if (!(error instanceof InvalidArgumentError || error instanceof CacheExhaustedError)) throw error;
          }
          pool.checkIntegrity(owners);
        }
      }),
      { numRuns: 300 },
    );
  });
});
