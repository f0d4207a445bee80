import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../errors/errors.ts';
import { type Batch, type BatchLimits, checkBatch } from './batch.ts';
import type { Program } from './program.ts';

const program: Program = {
  name: 'batch-test',
  hiddenSize: 8,
  vocabSize: 100,
  contextLength: 64,
  weights: [],
  buffers: [],
  arenaWidth: { tokens: 0, outputs: 0 },
  ropes: [],
  cacheGroups: [{ window: null }, { window: 16 }],
  cacheLayers: [],
  ops: [],
  hidden: { buffer: 0, column: 0, width: 8 },
  logits: { buffer: 0, column: 0, width: 100 },
  captures: [],
};
const limits: BatchLimits = { maxTokens: 8, maxOutputRows: 2, blockSize: 4, numBlocks: 10 };

/** A prefill chunk of three tokens at positions 4..6 beside a single decode token at position 9. */
function validBatch(): { -readonly [K in keyof Batch]: Batch[K] } {
  return {
    tokenIds: Int32Array.of(0, 99, 5, 7),
    positions: Int32Array.of(4, 5, 6, 9),
    cuSeqlensQ: Int32Array.of(0, 3, 4),
    contextLens: Int32Array.of(7, 10),
    blockTables: [
      { blocks: Int32Array.of(0, 1, -1, 2, 3, 9), maxBlocks: 3 },
      { blocks: Int32Array.of(4, 5, -1, 6, 7, 8), maxBlocks: 3 },
    ],
    outputRows: Int32Array.of(2, 3),
  };
}

/** The valid batch with one field set to something else. */
function batchWith(change: Partial<Batch>): Batch {
  return { ...validBatch(), ...change };
}

describe('checkBatch', () => {
  it('takes a ragged batch, entries past the last block unread', () => {
    expect(() => checkBatch(validBatch(), program, limits)).not.toThrow();
  });

  it('takes a batch without output rows and one at the very end of the context', () => {
    expect(() => checkBatch(batchWith({ outputRows: new Int32Array(0) }), program, limits)).not.toThrow();
    const blocks = new Int32Array(16);
    const atEnd: Batch = {
      tokenIds: Int32Array.of(1),
      positions: Int32Array.of(63),
      cuSeqlensQ: Int32Array.of(0, 1),
      contextLens: Int32Array.of(64),
      blockTables: [
        { blocks, maxBlocks: 16 },
        { blocks, maxBlocks: 16 },
      ],
      outputRows: Int32Array.of(0),
    };
    expect(() => checkBatch(atEnd, program, limits)).not.toThrow();
  });

  const [table0, table1] = validBatch().blockTables as [Batch['blockTables'][0], Batch['blockTables'][0]];
  const wrong: [string, Partial<Batch>, RegExp][] = [
    ['no tokens', { tokenIds: new Int32Array(0) }, /0 tokens/],
    ['more tokens than compiled for', { tokenIds: new Int32Array(9) }, /9 tokens, allowed are 1 to 8/],
    ['positions of another length', { positions: Int32Array.of(4, 5, 6) }, /positions has 3 entries/],
    ['no sequence', { cuSeqlensQ: Int32Array.of(0), contextLens: new Int32Array(0) }, /cuSeqlensQ/],
    ['an empty cuSeqlensQ', { cuSeqlensQ: new Int32Array(0) }, /cuSeqlensQ/],
    ['cuSeqlensQ that does not start at 0', { cuSeqlensQ: Int32Array.of(1, 3, 4) }, /from 0 to 4/],
    ['cuSeqlensQ that ends early', { cuSeqlensQ: Int32Array.of(0, 2, 3) }, /from 0 to 4/],
    [
      'a sequence without tokens',
      { cuSeqlensQ: Int32Array.of(0, 4, 4), contextLens: Int32Array.of(8, 10), positions: Int32Array.of(4, 5, 6, 7) },
      /sequence 1 goes from 4 to 4/,
    ],
    ['cuSeqlensQ that goes past the tokens and back', { cuSeqlensQ: Int32Array.of(0, 5, 4) }, /cuSeqlensQ/],
    ['too few context lengths', { contextLens: Int32Array.of(7) }, /contextLens has 1/],
    ['a context shorter than its tokens', { contextLens: Int32Array.of(2, 10) }, /context of 2/],
    ['a context longer than the model', { contextLens: Int32Array.of(7, 65) }, /context of 65/],
    ['a negative token id', { tokenIds: Int32Array.of(0, -1, 5, 7) }, /token id -1 at 1/],
    ['a token id past the vocabulary', { tokenIds: Int32Array.of(0, 100, 5, 7) }, /token id 100 at 1/],
    ['a gap in the positions', { positions: Int32Array.of(4, 6, 6, 9) }, /token 1 has position 6, expected 5/],
    ['positions that do not end at the context', { positions: Int32Array.of(3, 4, 5, 9) }, /expected 4/],
    ['one block table too few', { blockTables: [table0] }, /1 block tables, the program has 2/],
    [
      'a block table with too few columns',
      { blockTables: [table0, { blocks: Int32Array.of(4, 5, 6, 7), maxBlocks: 2 }] },
      /block table 1 has 2 columns, sequence 1 needs 3/,
    ],
    [
      'a block table with a row missing',
      { blockTables: [{ blocks: Int32Array.of(0, 1, 2), maxBlocks: 3 }, table1] },
      /block table 0/,
    ],
    [
      'a block past the pool',
      { blockTables: [{ blocks: Int32Array.of(0, 10, -1, 2, 3, 9), maxBlocks: 3 }, table1] },
      /names block 10 for sequence 0/,
    ],
    [
      'a negative block that is read',
      { blockTables: [table0, { blocks: Int32Array.of(4, 5, -1, 6, -1, 8), maxBlocks: 3 }] },
      /names block -1 for sequence 1/,
    ],
    ['too many output rows', { outputRows: Int32Array.of(0, 1, 2) }, /3 output rows/],
    ['an output row past the tokens', { outputRows: Int32Array.of(4) }, /outputRows/],
    ['a negative output row', { outputRows: Int32Array.of(-1) }, /outputRows/],
    ['output rows out of order', { outputRows: Int32Array.of(3, 2) }, /got 2 at 1/],
    ['an output row twice', { outputRows: Int32Array.of(3, 3) }, /got 3 at 1/],
  ];
  for (const [name, change, message] of wrong) {
    it(`refuses ${name}`, () => {
      const check = () => checkBatch(batchWith(change), program, limits);
      expect(check).toThrow(InvalidArgumentError);
      expect(check).toThrow(message);
    });
  }
});
