import type { BlockPool } from './block-pool.ts';
import type { PrefixCache, PrefixNode } from './prefix-cache.ts';

/**
 * The block table of one sequence.
 *
 *     positions   0 ........ blockSize ........ 2 · blockSize ....
 *     table       [ block ]  [ block ]          [ block ]
 *
 * All cache groups of a program use this one table: a block spans all layers, each of which belongs to one group.
 *
 * Every entry of the table is a reference to its block. Others may have references to the same block: a fork, or whoever
 * found it in the prefix cache. Such a block, and one that can be found, is never written: `growTo` replaces it first.
 */
export class SequenceBlocks {
  /** Prefixes are found only under the salt that they were published under. */
  readonly salt: string;
  readonly #pool: BlockPool;
  readonly #blockSize: number;
  readonly #prefixCache: PrefixCache | undefined;
  readonly #table: number[] = [];
  /** The published prefix of the sequence, a node for each of its first blocks. A node may stand for an equal block of another. */
  readonly #nodes: PrefixNode[] = [];

  /** Whether keys and values came from elsewhere, by `adopt`. What was computed after them builds on them. */
  #isAdopted = false;

  /** @param prefixCache without one, nothing is published or found */
  constructor(pool: BlockPool, blockSize: number, prefixCache?: PrefixCache, salt = '') {
    this.salt = salt;
    this.#pool = pool;
    this.#blockSize = blockSize;
    this.#prefixCache = prefixCache;
  }

  /** Block of each blockSize positions. */
  get table(): readonly number[] {
    return this.#table;
  }

  get numBlocks(): number {
    return this.#table.length;
  }

  /** How many blocks `growTo` takes. */
  numMissingBlocks(numPositions: number, writeFrom: number): number {
    const numAdded = Math.max(0, this.#numBlocksFor(numPositions) - this.#table.length);
    return numAdded + this.#findUnwritable(numPositions, writeFrom).length;
  }

  /**
   * Makes room so that positions `writeFrom` to `numPositions` − 1 can be written. Blocks among them that are shared or
   * published are replaced by new ones, the one that `writeFrom` lies within by a copy, so positions before it stay valid.
   * The new blocks are ready when `prepareBlocks` has run.
   * @throws CacheExhaustedError when the pool has too few; then nothing has changed
   */
  growTo(numPositions: number, writeFrom: number): void {
    const unwritable = this.#findUnwritable(numPositions, writeFrom);
    const numAdded = Math.max(0, this.#numBlocksFor(numPositions) - this.#table.length);
    const newBlocks = this.#pool.allocate(unwritable.length + numAdded);
    this.#forgetNodesFrom(writeFrom);
    for (const index of unwritable) {
      const shared = this.#table[index]!;
      const own = newBlocks.pop()!;
      if (index * this.#blockSize < writeFrom) this.#pool.scheduleCopy(shared, own);
      this.#table[index] = own;
      this.#pool.release([shared]);
    }
    for (const block of newBlocks) this.#table.push(block);
  }

  /**
   * Takes the blocks of a published prefix, when it covers more than the `numCachedTokens` positions that are valid in the
   * present blocks; these are then given back. Returns how many positions are valid afterwards: `numCachedTokens`, or more, and
   * then a multiple of the block size and at most `maxTokens`.
   *
   * Not while a step of the sequence runs or is planned.
   */
  attachPrefix(tokenIds: readonly number[], maxTokens: number, numCachedTokens: number): number {
    const nodes = this.#prefixCache?.match(tokenIds, this.salt, maxTokens, numCachedTokens) ?? [];
    if (nodes.length === 0) return numCachedTokens;
    this.release();
    for (const node of nodes) {
      this.#nodes.push(node);
      this.#table.push(node.block);
    }
    return nodes.length * this.#blockSize;
  }

  /**
   * Makes `blocks`, which were filled with keys and values from elsewhere, the table of a sequence that has none. Nobody can
   * tell whether they are what its tokens give, so nothing of it is published until it has given all of them back.
   */
  adopt(blocks: readonly number[]): void {
    this.release();
    this.#pool.retain(blocks);
    for (const block of blocks) this.#table.push(block);
    this.#isAdopted = true;
  }

  /**
   * Lets others find the blocks that are full with the first `numCachedTokens` of `tokenIds`. Call it when the step that
   * computed them has ended, with tokens that stay. It looks only at blocks that have become full since the last call.
   */
  publish(tokenIds: readonly number[], numCachedTokens: number): void {
    const numFull = Math.floor(numCachedTokens / this.#blockSize);
    if (!this.#prefixCache || this.#isAdopted || this.#nodes.length >= numFull) return;
    // Blocks of others that stood for equal ones of this sequence may have been evicted: from the first such one on, again.
    while (this.#nodes.at(-1)?.isPublished === false) this.#nodes.pop();
    for (let i = this.#nodes.length; i < numFull; i++) {
      this.#nodes.push(this.#prefixCache.publish(tokenIds, this.salt, i, this.#table[i]!, this.#nodes.at(-1)));
    }
  }

  /** Gives back the blocks that lie wholly past the first `numPositions` positions. */
  shrinkTo(numPositions: number): void {
    const numKept = this.#numBlocksFor(numPositions);
    this.#forgetNodesFrom(numPositions);
    if (this.#table.length <= numKept) return;
    // The last one first: it becomes the least recently used, and no block outlives in the cache those it builds on.
    this.#pool.release(this.#table.splice(numKept).reverse());
    if (numKept === 0) this.#isAdopted = false;
  }

  /** Gives back all blocks. */
  release(): void {
    this.shrinkTo(0);
  }

  /** A table of the same blocks for the first `numPositions` positions. Whoever writes into a shared block first copies it. */
  fork(numPositions: number): SequenceBlocks {
    const fork = new SequenceBlocks(this.#pool, this.#blockSize, this.#prefixCache, this.salt);
    this.#pool.retain(this.#table);
    for (const block of this.#table) fork.#table.push(block);
    for (const node of this.#nodes) fork.#nodes.push(node);
    fork.#isAdopted = this.#isAdopted;
    fork.shrinkTo(numPositions);
    return fork;
  }

  /** Positions from `position` on will hold other tokens than those their nodes stand for. */
  #forgetNodesFrom(position: number): void {
    this.#nodes.length = Math.min(this.#nodes.length, Math.floor(position / this.#blockSize));
  }

  /** Places in the table that are to be written and may not be. */
  #findUnwritable(numPositions: number, writeFrom: number): number[] {
    const found: number[] = [];
    if (writeFrom >= numPositions) return found;
    const end = Math.min(this.#table.length, this.#numBlocksFor(numPositions));
    for (let index = Math.floor(writeFrom / this.#blockSize); index < end; index++) {
      if (!this.#pool.isWritable(this.#table[index]!)) found.push(index);
    }
    return found;
  }

  #numBlocksFor(numPositions: number): number {
    return Math.ceil(numPositions / this.#blockSize);
  }
}
