import { describe, expect, it } from 'vitest';
import { BlockPool } from '../cache/block-pool.ts';
import { SequenceBlocks } from '../cache/sequence-blocks.ts';
import type { StepEntry } from '../schedule/task.ts';
import { Sequence } from '../session/sequence.ts';
import { fakeTask } from '../test/fake-task.ts';
import { buildBatch, fillTokens } from './build-batch.ts';

const pool = new BlockPool(20);

function sequenceOf(tokenIds: number[], numCachedTokens: number, numPositions: number): Sequence {
  const sequence = new Sequence(new SequenceBlocks(pool, 16));
  sequence.append(tokenIds);
  sequence.numCachedTokens = numCachedTokens;
  sequence.blocks.growTo(numPositions, numCachedTokens);
  return sequence;
}

describe('buildBatch', () => {
  it('lays a decode token, a prefill chunk, a run with guesses and scored tokens side by side', () => {
    const decode = sequenceOf([5, 6, 7], 2, 3);
    const prefill = sequenceOf(
      Array.from({ length: 40 }, (_, i) => 100 + i),
      16,
      36,
    );
    const run = sequenceOf([8, 9], 1, 4);
    const scored = sequenceOf([20, 21, 22], 0, 3);
    const entries: StepEntry[] = [
      { task: fakeTask(decode, { outputFrom: 2 }), start: 2, numTokens: 1, proposals: [] },
      { task: fakeTask(prefill, { outputFrom: 39 }), start: 16, numTokens: 3, proposals: [] },
      { task: fakeTask(run, { outputFrom: 1 }), start: 1, numTokens: 1, proposals: [31, 32] },
      { task: fakeTask(scored, { outputFrom: 1 }), start: 0, numTokens: 3, proposals: [] },
    ];
    const batch = buildBatch(entries, 2);
    fillTokens(batch, entries);
    expect([...batch.tokenIds]).toEqual([7, 116, 117, 118, 9, 31, 32, 20, 21, 22]);
    expect([...batch.positions]).toEqual([2, 16, 17, 18, 1, 2, 3, 0, 1, 2]);
    expect([...batch.cuSeqlensQ]).toEqual([0, 1, 4, 7, 10]);
    expect([...batch.contextLens]).toEqual([3, 19, 4, 3]);
    expect([...batch.outputRows]).toEqual([0, 4, 5, 6, 8, 9]);
    // The same table for both cache groups.
    expect(batch.blockTables).toHaveLength(2);
    for (const { blocks, maxBlocks } of batch.blockTables) {
      expect(maxBlocks).toBe(3);
      const rows = [decode, prefill, run, scored].map(({ blocks: { table } }) => [...table, 0, 0].slice(0, 3));
      expect([...blocks]).toEqual(rows.flat());
    }
  });
});
