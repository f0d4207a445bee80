import type { SequenceBlocks } from '../cache/sequence-blocks.ts';

/**
 * The tokens of a session and how much of them is in the KV cache. Pure state.
 *
 *     0 ........ anchor ........ numCachedTokens ........ length
 *     |  never cut back  |  in the cache  |  not computed yet  |
 *
 * (`numCachedTokens` may fall to 0 at any time: blocks can be taken for another sequence, the tokens stay.)
 */
export class Sequence {
  readonly tokenIds: number[] = [];
  readonly blocks: SequenceBlocks;
  readonly anchor: number;
  numCachedTokens = 0;
  /** When its last work ended, on a clock that only orders. */
  lastUse = 0;

  constructor(blocks: SequenceBlocks, anchor = 0) {
    this.blocks = blocks;
    this.anchor = anchor;
  }

  get length(): number {
    return this.tokenIds.length;
  }

  /** Prefixes in the cache are shared only among sequences of equal salts. */
  get cacheSalt(): string {
    return this.blocks.salt;
  }

  append(tokenIds: ArrayLike<number>): void {
    // Not push(...tokenIds): a long prompt would overflow the stack.
    for (let i = 0; i < tokenIds.length; i++) this.tokenIds.push(tokenIds[i]!);
  }

  /** Cuts back to `length` tokens; their blocks stay, the others are freed. */
  truncate(length: number): void {
    this.tokenIds.length = length;
    this.numCachedTokens = Math.min(this.numCachedTokens, length);
    this.blocks.shrinkTo(this.numCachedTokens);
  }

  /**
   * Takes what was computed of the first `maxTokens` tokens by any sequence, when it is more than this one has in the cache.
   * Not while a step of it runs or is planned.
   */
  attachPrefix(maxTokens: number): void {
    this.numCachedTokens = this.blocks.attachPrefix(this.tokenIds, maxTokens, this.numCachedTokens);
  }

  /** Lets other sequences have the full blocks of what is in the cache. Call it with tokens that stay, after their step. */
  publishPrefix(): void {
    this.blocks.publish(this.tokenIds, this.numCachedTokens);
  }

  /** A sequence of the same tokens that shares what is in the cache; what either does later does not change the other. */
  fork(): Sequence {
    const fork = new Sequence(this.blocks.fork(this.numCachedTokens), this.anchor);
    fork.append(this.tokenIds);
    fork.numCachedTokens = this.numCachedTokens;
    fork.lastUse = this.lastUse;
    return fork;
  }

  /** Gives all blocks back; the tokens are computed again when they are needed. */
  releaseBlocks(): void {
    this.numCachedTokens = 0;
    this.blocks.release();
  }
}
