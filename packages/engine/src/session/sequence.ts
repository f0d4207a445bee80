import type { SequenceBlocks } from '../cache/sequence-blocks.ts';

/**
 * The tokens of a session and how much of them is in the KV cache. Pure state.
 *
 *     0 ........ anchor ........ numCachedTokens ........ length
 *     |  never cut back  |  in the cache  |  not computed yet  |
 *
 * (`numCachedTokens` may lie below the anchor: blocks of an idle sequence can be reclaimed, its tokens stay.)
 */
export class Sequence {
  readonly tokenIds: number[] = [];
  readonly blocks: SequenceBlocks;
  readonly anchor: number;
  numCachedTokens = 0;
  /** Working now: its blocks are not reclaimed. */
  isActive = false;
  /** Ascends with use; the smallest is reclaimed first. */
  lastUse = 0;

  constructor(blocks: SequenceBlocks, anchor = 0) {
    this.blocks = blocks;
    this.anchor = anchor;
  }

  get length(): number {
    return this.tokenIds.length;
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

  /** Gives all blocks back; the tokens are computed again when they are needed. */
  releaseBlocks(): void {
    this.numCachedTokens = 0;
    this.blocks.release();
  }
}
