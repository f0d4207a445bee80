import { InvalidArgumentError } from '@hearth/core';
import { CacheExhaustedError } from '../errors.ts';
import { BlockQueue } from './block-queue.ts';
import { checkPool } from './check-pool.ts';

/** What must be done to the bytes of blocks before the next step; see `prepareBlocks`. */
export interface BlockPreparations {
  /** To be set to zero. */
  readonly zero: Int32Array;
  /** `copyTo[i]` is to become a copy of `copyFrom[i]`, in this order. */
  readonly copyFrom: Int32Array;
  readonly copyTo: Int32Array;
}

/**
 * Which blocks of the KV cache are free, and how many use each of the others. Pure bookkeeping: it knows no bytes.
 *
 *     allocate ─▶ owned ── last release ─▶ cached (published) ── evicted when free ones run out ─▶ allocate
 *       ▲           ▲ ╲                       │
 *     free ◀────────┼──╲ last release         │
 *                   └── retain ◀──────────────┘
 *
 * - *owned*: has references. Every mention in a block table is one.
 * - *cached*: has none, but is published, so that the prefix cache can find it. The least recently used is evicted first.
 * - *free*: anything else.
 *
 * A block that was handed out owes a preparation: zeros, or a copy of another block. The pool keeps account of them, so
 * that it does not matter what becomes of a plan between `allocate` and the step: a block that goes back owes nothing, and
 * the source of a copy is pinned until the copy is made.
 */
export class BlockPool {
  readonly numBlocks: number;
  /** Told of each cached block that is taken for another use, which is no longer published then. */
  onEvict: ((block: number) => void) | undefined;
  /** Free blocks, the next one to be handed out last. */
  readonly #free: number[];
  readonly #cached: BlockQueue;
  readonly #refCounts: Int32Array;
  /** How many of the references are pins. */
  readonly #pins: Int32Array;
  readonly #isPublished: Uint8Array;
  /** The block that an owned block is to become a copy of, or undefined when it is to become zero. Sources are pinned. */
  readonly #unprepared = new Map<number, number | undefined>();

  constructor(numBlocks: number) {
    if (!Number.isSafeInteger(numBlocks) || numBlocks < 1) {
      throw new InvalidArgumentError(`A cache needs at least one block, got ${numBlocks}.`);
    }
    this.numBlocks = numBlocks;
    this.#free = Array.from({ length: numBlocks }, (_, i) => numBlocks - 1 - i);
    this.#cached = new BlockQueue(numBlocks);
    this.#refCounts = new Int32Array(numBlocks);
    this.#pins = new Int32Array(numBlocks);
    this.#isPublished = new Uint8Array(numBlocks);
  }

  get numFreeBlocks(): number {
    return this.#free.length;
  }

  /** Published blocks without a reference. */
  get numCachedBlocks(): number {
    return this.#cached.size;
  }

  get numOwnedBlocks(): number {
    return this.numBlocks - this.numAvailableBlocks;
  }

  /** How many `allocate` can hand out. */
  get numAvailableBlocks(): number {
    return this.numFreeBlocks + this.numCachedBlocks;
  }

  /**
   * Hands out `count` blocks with one reference each: free ones, and when they run out, the least recently used cached ones.
   * They owe zeros, see `takePreparations`.
   * @throws CacheExhaustedError when there are fewer; then none is taken
   */
  allocate(count: number): number[] {
    if (count > this.numAvailableBlocks) {
      throw new CacheExhaustedError(count, this.numAvailableBlocks, this.numBlocks);
    }
    const blocks: number[] = [];
    while (blocks.length < count) {
      const block = this.#free.pop() ?? this.#evictOldest();
      this.#refCounts[block] = 1;
      this.#unprepared.set(block, undefined);
      blocks.push(block);
    }
    return blocks;
  }

  /**
   * Adds a reference for each mention.
   * @throws InvalidArgumentError for a block that is free or does not exist; then none is added
   */
  retain(blocks: readonly number[]): void {
    for (const block of blocks) this.#checkInUse(block);
    for (const block of blocks) {
      if (this.#refCounts[block] === 0) this.#cached.remove(block);
      this.#refCounts[block]!++;
    }
  }

  /**
   * Drops a reference for each mention. A block without one is cached when it is published, as the most recently used, and
   * free otherwise.
   * @throws InvalidArgumentError for a block that has no such reference or does not exist; then none is dropped
   */
  release(blocks: readonly number[]): void {
    const unreferenced: number[] = [];
    for (const [i, block] of blocks.entries()) {
      // Pins have their own way out.
      const canDrop = this.#exists(block) && this.#refCounts[block]! > this.#pins[block]!;
      if (!canDrop) {
        for (const dropped of blocks.slice(0, i)) this.#refCounts[dropped]!++;
        this.#checkExists(block);
        throw new InvalidArgumentError(`Block ${block} is released more often than it was allocated and retained.`);
      }
      if (--this.#refCounts[block]! === 0) unreferenced.push(block);
    }
    for (const block of unreferenced) this.#putAway(block);
  }

  /**
   * As `retain`, for something that reads blocks for a while without a block table: a copy, a file that is written. A pinned
   * block stays what it is.
   */
  pin(blocks: readonly number[]): void {
    this.retain(blocks);
    for (const block of blocks) this.#pins[block]!++;
  }

  /**
   * Whether blocks are pinned by more than the copies that the next step makes: by a file that is written or read now. These
   * pins are dropped by themselves.
   */
  get isInTransfer(): boolean {
    const numCopies = [...this.#unprepared.values()].filter((from) => from !== undefined).length;
    return this.#pins.reduce((sum, pins) => sum + pins, 0) > numCopies;
  }

  /** @throws InvalidArgumentError for a block that is not pinned as often; then no pin is dropped */
  unpin(blocks: readonly number[]): void {
    for (const [i, block] of blocks.entries()) {
      if (!this.#exists(block) || this.#pins[block] === 0) {
        for (const dropped of blocks.slice(0, i)) this.#pins[dropped]!++;
        throw new InvalidArgumentError(`Block ${block} is not pinned.`);
      }
      this.#pins[block]!--;
    }
    this.release(blocks);
  }

  /** References, pins included. */
  refCount(block: number): number {
    this.#checkExists(block);
    return this.#refCounts[block]!;
  }

  isPublished(block: number): boolean {
    this.#checkExists(block);
    return this.#isPublished[block] === 1;
  }

  /** Whether the owner of a block may write into it: nobody else has it, and nobody can find it. */
  isWritable(block: number): boolean {
    return this.refCount(block) === 1 && !this.isPublished(block);
  }

  /**
   * Marks an owned block as one that can be found. It is never written again.
   * @throws InvalidArgumentError when it has no owner, owes a preparation, or is published already
   */
  publish(block: number): void {
    if (this.refCount(block) === 0)
      throw new InvalidArgumentError(`Block ${block} has no owner that could publish it.`);
    if (this.isPublished(block)) throw new InvalidArgumentError(`Block ${block} is published already.`);
    if (this.#unprepared.has(block)) {
      throw new InvalidArgumentError(
        `Block ${block} was never prepared, so nothing was written to it: see prepareBlocks.`,
      );
    }
    this.#isPublished[block] = 1;
  }

  /**
   * Takes `publish` back: a cached block becomes free.
   * @throws InvalidArgumentError when it is not published
   */
  unpublish(block: number): void {
    if (!this.isPublished(block)) throw new InvalidArgumentError(`Block ${block} is not published.`);
    this.#isPublished[block] = 0;
    if (this.#refCounts[block] !== 0) return;
    this.#cached.remove(block);
    this.#free.push(block);
  }

  /**
   * Makes a block that was just allocated owe a copy of `from` instead of zeros. `from` is pinned until the copy is made, or
   * until `to` goes back.
   * @throws InvalidArgumentError when `to` does not owe zeros
   */
  scheduleCopy(from: number, to: number): void {
    if (!this.#unprepared.has(to) || this.#unprepared.get(to) !== undefined) {
      throw new InvalidArgumentError(`Block ${to} does not wait for its first bytes, so it cannot become a copy.`);
    }
    this.pin([from]);
    // Anew, so that the copies stay in the order in which they were asked for: `from` may itself be a copy to be made.
    this.#unprepared.delete(to);
    this.#unprepared.set(to, from);
  }

  /** The block that holds what `block` is to hold: itself, or the source of the copy that it owes. */
  contentOf(block: number): number {
    const source = this.#unprepared.get(block);
    return source === undefined ? block : this.contentOf(source);
  }

  /**
   * Takes what all blocks owe. Until `finishPreparations`, those that are to be prepared are pinned as well: none comes to a
   * new owner, who writes into it, before its old preparation. Not to be called but by `prepareBlocks`.
   */
  takePreparations(): BlockPreparations {
    const owed = [...this.#unprepared];
    this.#unprepared.clear();
    this.pin(owed.map(([block]) => block));
    const copies = owed.filter((entry): entry is [number, number] => entry[1] !== undefined);
    return {
      zero: Int32Array.from(owed.filter(([, from]) => from === undefined).map(([block]) => block)),
      copyFrom: Int32Array.from(copies, ([, from]) => from),
      copyTo: Int32Array.from(copies, ([to]) => to),
    };
  }

  /** What was taken is done. */
  finishPreparations({ zero, copyFrom, copyTo }: BlockPreparations): void {
    this.unpin([...zero, ...copyFrom, ...copyTo]);
  }

  /** For blocks whose owner writes all their bytes itself: they owe nothing. */
  markPrepared(blocks: readonly number[]): void {
    for (const block of blocks) this.#settle(block);
  }

  /**
   * Checks everything that is said above. `owners`: all block tables there are, one after another; each mention is one
   * reference.
   * @throws Error naming the first block that is not as it should be
   */
  checkIntegrity(owners: Iterable<number>): void {
    checkPool(
      {
        numBlocks: this.numBlocks,
        free: this.#free,
        cached: this.#cached,
        refCounts: this.#refCounts,
        pins: this.#pins,
        isPublished: this.#isPublished,
        unprepared: this.#unprepared,
      },
      owners,
    );
  }

  #evictOldest(): number {
    const block = this.#cached.oldest!;
    this.#cached.remove(block);
    this.#isPublished[block] = 0;
    this.onEvict?.(block);
    return block;
  }

  #putAway(block: number): void {
    this.#settle(block);
    if (this.#isPublished[block] === 1) this.#cached.push(block);
    else this.#free.push(block);
  }

  /** What the block owes, it owes no longer. */
  #settle(block: number): void {
    const source = this.#unprepared.get(block);
    this.#unprepared.delete(block);
    if (source !== undefined) this.unpin([source]);
  }

  #checkInUse(block: number): void {
    this.#checkExists(block);
    if (this.#refCounts[block] === 0 && this.#isPublished[block] === 0) {
      throw new InvalidArgumentError(`Block ${block} is free, so nobody can share it.`);
    }
  }

  #checkExists(block: number): void {
    if (!this.#exists(block)) {
      throw new InvalidArgumentError(`Block ${block} does not exist; there are ${this.numBlocks}.`);
    }
  }

  #exists(block: number): boolean {
    return Number.isInteger(block) && block >= 0 && block < this.numBlocks;
  }
}
