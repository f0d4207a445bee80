import type { BlockPool } from './block-pool.ts';

/**
 * The blocks of one sequence: a block table for each cache group of the program, all of the same length.
 *
 *     positions   0 ........ blockSize ........ 2 · blockSize ....
 *     table       [ block ]  [ block ]          [ block ]
 *
 * The sequence owns its blocks until `shrinkTo` or `release` gives them back to the pool.
 */
export class SequenceBlocks {
  readonly #pool: BlockPool;
  readonly #blockSize: number;
  readonly #tables: number[][];

  constructor(pool: BlockPool, blockSize: number, numGroups: number) {
    this.#pool = pool;
    this.#blockSize = blockSize;
    this.#tables = Array.from({ length: numGroups }, () => []);
  }

  /** By cache group. */
  get tables(): readonly (readonly number[])[] {
    return this.#tables;
  }

  get numBlocks(): number {
    return this.#tables.reduce((sum, table) => sum + table.length, 0);
  }

  /** How many more blocks, over all groups, `numPositions` positions take. */
  numMissingBlocks(numPositions: number): number {
    const perGroup = Math.ceil(numPositions / this.#blockSize);
    return this.#tables.reduce((sum, table) => sum + Math.max(0, perGroup - table.length), 0);
  }

  /**
   * Makes room for `numPositions` positions and returns the new blocks, which must be zeroed before use.
   * @throws CacheExhaustedError when the pool has too few; then nothing has changed
   */
  growTo(numPositions: number): number[] {
    const perGroup = Math.ceil(numPositions / this.#blockSize);
    const added = this.#pool.allocate(this.numMissingBlocks(numPositions));
    let next = 0;
    for (const table of this.#tables) {
      while (table.length < perGroup) table.push(added[next++]!);
    }
    return added;
  }

  /** Gives back the blocks that lie wholly past the first `numPositions` positions. */
  shrinkTo(numPositions: number): void {
    const perGroup = Math.ceil(numPositions / this.#blockSize);
    for (const table of this.#tables) {
      if (table.length > perGroup) this.#pool.free(table.splice(perGroup));
    }
  }

  /** Gives back all blocks. */
  release(): void {
    this.shrinkTo(0);
  }
}
