import type { BlockPool } from '../cache/block-pool.ts';
import type { Sequence } from '../session/sequence.ts';

/** Who may lose blocks to a task. */
export interface BlockHolders {
  /** Sequences that no task works on. */
  idle(): readonly Sequence[];
  /** Sequences whose task has not begun, in the order of their rank: they keep what earlier work has left them. */
  waiting(): readonly Sequence[];
  /** Sequences of running tasks behind the one that needs blocks, in the order of their rank. */
  running(): readonly Sequence[];
  /** Takes the blocks of a running one, and its turn. */
  preempt(sequence: Sequence): void;
}

/**
 * Frees blocks until `numMissing` are available, in this order:
 *
 * 1. from idle sequences, the longest unused first;
 * 2. from waiting ones, the last in rank first;
 * 3. from running ones, the last in rank first.
 *
 * Blocks that the prefix cache alone holds count as available, so they go before all of these. Sequences keep their tokens
 * in any case; by the numerics contract they compute the same bits again.
 *
 * @param numMissing asked again after each victim, which may have shared blocks with the sequence that needs some
 * @returns whether there are enough now
 */
export function takeBlocks(pool: BlockPool, numMissing: () => number, holders: BlockHolders): boolean {
  const isEnough = () => numMissing() <= pool.numAvailableBlocks;
  const holding = (sequences: readonly Sequence[]) => sequences.filter(({ blocks }) => blocks.numBlocks > 0);
  const idle = holding(holders.idle()).sort((a, b) => a.lastUse - b.lastUse);
  for (const sequence of [...idle, ...holding(holders.waiting()).reverse()]) {
    if (isEnough()) return true;
    sequence.releaseBlocks();
  }
  for (const sequence of holders.running().toReversed()) {
    if (isEnough()) return true;
    holders.preempt(sequence);
  }
  return isEnough();
}
