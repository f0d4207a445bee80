import type { BlockQueue } from './block-queue.ts';

/** The state of a `BlockPool`. */
export interface PoolState {
  readonly numBlocks: number;
  readonly free: readonly number[];
  readonly cached: BlockQueue;
  readonly refCounts: Int32Array;
  readonly pins: Int32Array;
  readonly isPublished: Uint8Array;
  readonly unprepared: ReadonlyMap<number, number | undefined>;
}

/**
 * Checks that every block is free, cached or owned, each according to its references, and that these are what `owners` and
 * pins account for.
 * @throws Error naming the first block that is not as it should be
 */
export function checkPool(pool: PoolState, owners: Iterable<number>): void {
  const { numBlocks, free, cached, refCounts, pins, isPublished, unprepared } = pool;
  const mentions = new Int32Array(numBlocks);
  for (const block of owners) {
    if (!(block >= 0 && block < numBlocks))
      throw new Error(`Block ${block} is owned, but there are only ${numBlocks}.`);
    mentions[block]!++;
  }
  const isFree = marks(free, numBlocks, 'free');
  const isCached = marks(cached, numBlocks, 'cached');
  for (let block = 0; block < numBlocks; block++) {
    const expected = mentions[block]! + pins[block]!;
    if (refCounts[block] !== expected) {
      throw new Error(
        `Block ${block} has ${refCounts[block]} references, but ${mentions[block]} owners and ${pins[block]} pins.`,
      );
    }
    const place = expected > 0 ? 'owned' : isPublished[block] === 1 ? 'cached' : 'free';
    if ((isFree[block] === 1) !== (place === 'free')) {
      throw new Error(`Block ${block} is ${place}, but ${isFree[block] ? 'in' : 'not in'} the list of free blocks.`);
    }
    if ((isCached[block] === 1) !== (place === 'cached')) {
      throw new Error(
        `Block ${block} is ${place}, but ${isCached[block] ? 'in' : 'not in'} the queue of cached blocks.`,
      );
    }
  }
  if (isCached.reduce((sum, mark) => sum + mark, 0) !== cached.size) {
    throw new Error(`The queue of cached blocks counts ${cached.size} blocks.`);
  }
  for (const [block, source] of unprepared) {
    if (refCounts[block] === 0) throw new Error(`Block ${block} has no owner, but is to be prepared.`);
    if (isPublished[block] === 1) throw new Error(`Block ${block} is published, but is to be prepared.`);
    if (source !== undefined && pins[source] === 0)
      throw new Error(`Block ${source} is to be copied, but is not pinned.`);
  }
}

function marks(blocks: Iterable<number>, numBlocks: number, what: string): Uint8Array {
  const marked = new Uint8Array(numBlocks);
  for (const block of blocks) {
    if (marked[block] !== 0) throw new Error(`Block ${block} is ${what} twice.`);
    marked[block] = 1;
  }
  return marked;
}
