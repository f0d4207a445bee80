import { InvalidArgumentError } from '@hearth/core';
import { CacheExhaustedError } from '../errors.ts';

/**
 * Which blocks of the KV cache are free. Pure bookkeeping: it knows neither the bytes nor what a block is used for.
 *
 * A block is either free or owned by exactly one block table; `checkIntegrity` says so when all owners are named.
 */
export class BlockPool {
  readonly numBlocks: number;
  /** Free blocks, the next one to be handed out last. */
  readonly #free: number[];
  readonly #isFree: Uint8Array;

  constructor(numBlocks: number) {
    if (!Number.isSafeInteger(numBlocks) || numBlocks < 1) {
      throw new InvalidArgumentError(`A cache needs at least one block, got ${numBlocks}.`);
    }
    this.numBlocks = numBlocks;
    this.#free = Array.from({ length: numBlocks }, (_, i) => numBlocks - 1 - i);
    this.#isFree = new Uint8Array(numBlocks).fill(1);
  }

  get numFreeBlocks(): number {
    return this.#free.length;
  }

  canAllocate(count: number): boolean {
    return count <= this.#free.length;
  }

  /**
   * Takes `count` blocks out of the pool. Their bytes are whatever their last owner left: zero them before use.
   * @throws CacheExhaustedError when there are fewer; then none is taken
   */
  allocate(count: number): number[] {
    if (!this.canAllocate(count)) throw new CacheExhaustedError(count, this.#free.length, this.numBlocks);
    const blocks: number[] = [];
    for (let i = 0; i < count; i++) {
      const block = this.#free.pop()!;
      this.#isFree[block] = 0;
      blocks.push(block);
    }
    return blocks;
  }

  /**
   * Puts blocks back.
   * @throws InvalidArgumentError for a block that is free already, is named twice or does not exist; then none is put back
   */
  free(blocks: readonly number[]): void {
    const seen = new Set<number>();
    for (const block of blocks) {
      if (!Number.isInteger(block) || block < 0 || block >= this.numBlocks) {
        throw new InvalidArgumentError(`Block ${block} does not exist; there are ${this.numBlocks}.`);
      }
      if (this.#isFree[block] === 1 || seen.has(block)) {
        throw new InvalidArgumentError(`Block ${block} is freed twice.`);
      }
      seen.add(block);
    }
    for (const block of blocks) {
      this.#isFree[block] = 1;
      this.#free.push(block);
    }
  }

  /**
   * Checks that every block is free or owned, once. `owned`: the blocks of every block table there is.
   * @throws Error naming the first block that is not
   */
  checkIntegrity(owned: Iterable<number>): void {
    const owners = new Uint8Array(this.numBlocks);
    for (const block of owned) {
      if (this.#isFree[block] !== 0) throw new Error(`Block ${block} is owned, and free as well.`);
      owners[block]!++;
    }
    for (let block = 0; block < this.numBlocks; block++) {
      if (owners[block]! > 1) throw new Error(`Block ${block} has ${owners[block]} owners.`);
      if (owners[block] === 0 && this.#isFree[block] === 0)
        throw new Error(`Block ${block} is neither free nor owned.`);
    }
    const numFree = this.#isFree.reduce((sum, free) => sum + free, 0);
    if (numFree !== this.#free.length || new Set(this.#free).size !== numFree) {
      throw new Error(`The free list has ${this.#free.length} entries for ${numFree} free blocks.`);
    }
  }
}
