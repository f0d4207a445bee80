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
  /** When its present work began, on a clock that only orders; undefined while it is idle. */
  activeSince: number | undefined;
  /** When its last work ended, on the same clock. */
  lastUse = 0;

  constructor(blocks: SequenceBlocks, anchor = 0) {
    this.blocks = blocks;
    this.anchor = anchor;
  }

  get length(): number {
    return this.tokenIds.length;
  }

  get isActive(): boolean {
    return this.activeSince !== undefined;
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
