import { describe, expect, it } from 'vitest';
import { Sequence } from '../session/sequence.ts';
import { BlockPool } from './block-pool.ts';
import { makeRoom } from './make-room.ts';
import { SequenceBlocks } from './sequence-blocks.ts';

/** Sequences that hold two blocks each and fill the pool. */
function full(states: readonly { idleSince: number }[] | readonly { workingSince: number }[]) {
  const pool = new BlockPool(2 * states.length);
  const sequences = states.map((state) => {
    const sequence = new Sequence(new SequenceBlocks(pool, 16));
    sequence.append(Array.from({ length: 20 }, () => 7));
    sequence.blocks.growTo(20, 0);
    sequence.numCachedTokens = 20;
    if ('idleSince' in state) sequence.lastUse = state.idleSince;
    else sequence.activeSince = state.workingSince;
    return sequence;
  });
  return { pool, sequences };
}

function newcomer(pool: BlockPool, workingSince: number): Sequence {
  const sequence = new Sequence(new SequenceBlocks(pool, 16));
  sequence.activeSince = workingSince;
  return sequence;
}

const cached = (sequences: readonly Sequence[]) => sequences.map((sequence) => sequence.numCachedTokens);

describe('makeRoom', () => {
  it('takes from the longest unused first, and no more than needed', () => {
    const { pool, sequences } = full([{ idleSince: 3 }, { idleSince: 1 }, { idleSince: 2 }]);
    expect(makeRoom(pool, sequences, newcomer(pool, 9), 3)).toEqual({ outcome: 'found', preempted: [] });
    expect(cached(sequences)).toEqual([20, 0, 0]);
    expect(sequences[1]!.length).toBe(20);
    expect(pool.numFreeBlocks).toBe(4);
  });

  it('takes nothing when there is room', () => {
    const { pool, sequences } = full([{ idleSince: 1 }]);
    sequences[0]!.blocks.shrinkTo(16);
    expect(makeRoom(pool, sequences, newcomer(pool, 2), 1)).toEqual({ outcome: 'found', preempted: [] });
    expect(cached(sequences)).toEqual([20]);
  });

  it('takes from working sequences that are younger, the youngest first', () => {
    const { pool, sequences } = full([{ workingSince: 2 }, { workingSince: 5 }, { workingSince: 4 }]);
    const room = makeRoom(pool, sequences, newcomer(pool, 3), 4);
    expect(room.outcome).toBe('found');
    expect(room.preempted).toEqual([sequences[1], sequences[2]]);
    expect(cached(sequences)).toEqual([20, 0, 0]);
  });

  it('waits for older ones', () => {
    const { pool, sequences } = full([{ workingSince: 1 }, { workingSince: 2 }]);
    expect(makeRoom(pool, sequences, newcomer(pool, 3), 1)).toEqual({ outcome: 'wait', preempted: [] });
    expect(cached(sequences)).toEqual([20, 20]);
  });

  it('says that there is none when nobody is left to wait for', () => {
    const { pool, sequences } = full([{ workingSince: 4 }, { workingSince: 5 }]);
    expect(makeRoom(pool, sequences, newcomer(pool, 3), 5)).toMatchObject({ outcome: 'none' });
  });

  it('leaves the blocks of the sequence itself alone', () => {
    const { pool, sequences } = full([{ workingSince: 1 }, { workingSince: 2 }]);
    expect(makeRoom(pool, sequences, sequences[0]!, 1)).toEqual({ outcome: 'found', preempted: [sequences[1]] });
    expect(cached(sequences)).toEqual([20, 0]);
  });
});
