import { checkBatch } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { BlockPool } from '../cache/block-pool.ts';
import { SequenceBlocks } from '../cache/sequence-blocks.ts';
import { Sequence } from '../session/sequence.ts';
import { fakeProgram } from '../test/fake-program.ts';
import { buildBatch } from './build-batch.ts';

function sequenceOf(pool: BlockPool, tokenIds: number[], numCached: number, upTo: number): Sequence {
  const sequence = new Sequence(new SequenceBlocks(pool, 16));
  sequence.append(tokenIds);
  sequence.numCachedTokens = numCached;
  sequence.blocks.growTo(upTo, numCached);
  return sequence;
}

describe('buildBatch', () => {
  it('puts a prefill chunk, a decode token and a run with all outputs side by side', () => {
    const pool = new BlockPool(10);
    const prefill = sequenceOf(pool, [5, 6, 7, 8], 0, 3);
    const decode = sequenceOf(
      pool,
      Array.from({ length: 21 }, (_, i) => i),
      20,
      21,
    );
    const verify = sequenceOf(pool, [1, 2, 3], 1, 3);
    const batch = buildBatch(
      [
        { sequence: prefill, numTokens: 3, outputs: 'none' },
        { sequence: decode, numTokens: 1, outputs: 'last' },
        { sequence: verify, numTokens: 2, outputs: 'all' },
      ],
      1,
    );
    expect(batch.tokenIds).toEqual(Int32Array.of(5, 6, 7, 20, 2, 3));
    expect(batch.positions).toEqual(Int32Array.of(0, 1, 2, 20, 1, 2));
    expect(batch.cuSeqlensQ).toEqual(Int32Array.of(0, 3, 4, 6));
    expect(batch.contextLens).toEqual(Int32Array.of(3, 21, 3));
    expect(batch.outputRows).toEqual(Int32Array.of(3, 4, 5));
    const [p, d, v] = [prefill, decode, verify].map((sequence) => sequence.blocks.table);
    expect(batch.blockTables).toEqual([{ maxBlocks: 2, blocks: Int32Array.of(p![0]!, 0, d![0]!, d![1]!, v![0]!, 0) }]);
    const limits = { maxTokens: 6, maxOutputRows: 3, blockSize: 16, numBlocks: 10 };
    expect(() => checkBatch(batch, fakeProgram({ vocabSize: 32, contextLength: 64 }), limits)).not.toThrow();
  });

  it('gives every cache group the same table', () => {
    const pool = new BlockPool(4);
    const sequence = sequenceOf(pool, [1, 2], 0, 2);
    const batch = buildBatch([{ sequence, numTokens: 2, outputs: 'last' }], 2);
    const table = { maxBlocks: 1, blocks: Int32Array.from(sequence.blocks.table) };
    expect(batch.blockTables).toEqual([table, table]);
  });
});
