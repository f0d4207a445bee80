import type { Sequence } from '../session/sequence.ts';
import type { BlockPool } from './block-pool.ts';

/** What had to be done so that a sequence can have blocks. */
export interface Room {
  /**
   * `found`: the blocks can be allocated. `wait`: older sequences hold them and will end. `none`: there are not that many,
   * or nobody will ever give them back.
   */
  readonly outcome: 'found' | 'wait' | 'none';
  /** Sequences that were working and have lost their blocks; they must compute their tokens again. */
  readonly preempted: readonly Sequence[];
}

/**
 * Frees blocks for `sequence`, which is working, in this order:
 *
 * 1. from idle sequences, the longest unused first;
 * 2. from working ones that began after it, the youngest first.
 *
 * So the oldest working sequence always gets on, ends, and leaves its blocks to the others: no two can starve each other.
 * Sequences keep their tokens in any case; by the numerics contract they compute the same bits again.
 */
export function makeRoom(pool: BlockPool, sequences: Iterable<Sequence>, sequence: Sequence, numBlocks: number): Room {
  const preempted: Sequence[] = [];
  const others = [...sequences].filter((other) => other !== sequence && other.blocks.numBlocks > 0);
  for (const victim of [...idleOldestFirst(others), ...youngerYoungestFirst(others, sequence)]) {
    if (numBlocks <= pool.numAvailableBlocks) break;
    victim.releaseBlocks();
    if (victim.isActive) preempted.push(victim);
  }
  if (numBlocks <= pool.numAvailableBlocks) return { outcome: 'found', preempted };
  const isOldest = !others.some((other) => other.isActive && other.activeSince! < sequence.activeSince!);
  return { outcome: isOldest ? 'none' : 'wait', preempted };
}

function idleOldestFirst(sequences: readonly Sequence[]): Sequence[] {
  return sequences.filter((other) => !other.isActive).sort((a, b) => a.lastUse - b.lastUse);
}

function youngerYoungestFirst(sequences: readonly Sequence[], than: Sequence): Sequence[] {
  return sequences
    .filter((other) => other.isActive && other.activeSince! > than.activeSince!)
    .sort((a, b) => b.activeSince! - a.activeSince!);
}
