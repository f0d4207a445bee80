import type { Sequence } from '../session/sequence.ts';
import type { BlockPool } from './block-pool.ts';

/**
 * Frees the blocks of idle sequences, the longest unused first, until `numBlocks` can be allocated or no idle sequence
 * holds any. A sequence whose blocks were taken keeps its tokens and computes them again when it is next used.
 */
export function reclaimIdleBlocks(pool: BlockPool, sequences: Iterable<Sequence>, numBlocks: number): void {
  if (pool.canAllocate(numBlocks)) return;
  const idle = [...sequences]
    .filter((sequence) => !sequence.isActive && sequence.blocks.numBlocks > 0)
    .sort((a, b) => a.lastUse - b.lastUse);
  for (const sequence of idle) {
    if (pool.canAllocate(numBlocks)) return;
    sequence.releaseBlocks();
  }
}
