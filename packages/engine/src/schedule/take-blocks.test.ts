import { describe, expect, it } from 'vitest';
import { BlockPool } from '../cache/block-pool.ts';
import { SequenceBlocks } from '../cache/sequence-blocks.ts';
import { Sequence } from '../session/sequence.ts';
import { type BlockHolders, takeBlocks } from './take-blocks.ts';

/** Sequences that hold two blocks each and fill the pool. */
function full(count: number) {
  const pool = new BlockPool(2 * count);
  const sequences = Array.from({ length: count }, () => {
    const sequence = new Sequence(new SequenceBlocks(pool, 16));
    sequence.append(Array.from({ length: 20 }, () => 7));
    sequence.blocks.growTo(20, 0);
    sequence.numCachedTokens = 20;
    return sequence;
  });
  return { pool, sequences };
}

/** Everybody named is a holder; preempting takes the blocks. */
function holders(named: { idle?: Sequence[]; waiting?: Sequence[]; running?: Sequence[] }) {
  const preempted: Sequence[] = [];
  const all: BlockHolders = {
    idle: () => named.idle ?? [],
    waiting: () => named.waiting ?? [],
    running: () => named.running ?? [],
    preempt: (sequence) => {
      sequence.releaseBlocks();
      preempted.push(sequence);
    },
  };
  return { all, preempted };
}

const cached = (sequences: readonly Sequence[]) => sequences.map((sequence) => sequence.numCachedTokens);

describe('takeBlocks', () => {
  it('takes from the longest unused first, and no more than needed', () => {
    const { pool, sequences } = full(3);
    for (const [i, lastUse] of [3, 1, 2].entries()) sequences[i]!.lastUse = lastUse;
    expect(takeBlocks(pool, () => 3, holders({ idle: sequences }).all)).toBe(true);
    expect(cached(sequences)).toEqual([20, 0, 0]);
    expect(sequences[1]!.length).toBe(20);
    expect(pool.numFreeBlocks).toBe(4);
  });

  it('takes from idle ones, then from waiting ones, then from running ones, the last of them first', () => {
    const { pool, sequences } = full(5);
    const [idle, waitsFirst, waitsLast, runsFirst, runsLast] = sequences as [
      Sequence,
      Sequence,
      Sequence,
      Sequence,
      Sequence,
    ];
    const { all, preempted } = holders({
      idle: [idle],
      waiting: [waitsFirst, waitsLast],
      running: [runsFirst, runsLast],
    });
    const order = [];
    for (let i = 0; i < 3; i++) {
      // What is available now is wanted, and two blocks on top.
      const wanted = pool.numAvailableBlocks + 2;
      expect(takeBlocks(pool, () => wanted, all)).toBe(true);
      order.push(cached(sequences));
    }
    expect(order).toEqual([
      [0, 20, 20, 20, 20],
      [0, 20, 0, 20, 20],
      [0, 0, 0, 20, 20],
    ]);
    expect(preempted).toEqual([]);
    expect(takeBlocks(pool, () => 8, all)).toBe(true);
    expect(preempted).toEqual([runsLast]);
    expect(cached(sequences)).toEqual([0, 0, 0, 20, 0]);
    expect(takeBlocks(pool, () => 11, all)).toBe(false);
  });

  it('takes nothing when there is room', () => {
    const { pool, sequences } = full(1);
    sequences[0]!.blocks.shrinkTo(16);
    expect(takeBlocks(pool, () => 1, holders({ idle: sequences }).all)).toBe(true);
    expect(cached(sequences)).toEqual([20]);
  });

  it('goes on where a victim had only shared what it held', () => {
    const { pool, sequences } = full(2);
    const fork = sequences[0]!.fork();
    fork.lastUse = -1;
    expect(takeBlocks(pool, () => 2, holders({ idle: [fork, sequences[0]!, sequences[1]!] }).all)).toBe(true);
    expect([fork.numCachedTokens, ...cached(sequences)]).toEqual([0, 0, 20]);
  });

  it('says so when there are not enough', () => {
    const { pool, sequences } = full(2);
    expect(takeBlocks(pool, () => 5, holders({ running: sequences }).all)).toBe(false);
  });
});
