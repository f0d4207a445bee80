import type { Batch, Op, Program } from '@hearth/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeBatch } from './__fixtures__/batches.ts';
import type { NativeExecutable, NativeRuntime, NativeWeights } from './addon-types.ts';
import { encodeProgram } from './encode-program.ts';
import { loadAddon } from './load-addon.ts';

// Native code checks again what TypeScript has checked. Here it is called past TypeScript's checks.

let runtime: NativeRuntime;
let weights: NativeWeights;

const f32 = 0;
const view = (buffer: number, width: number, column = 0) => ({ buffer, column, width });

beforeAll(async () => {
  runtime = new (loadAddon().Runtime)('', 2);
  weights = runtime.createWeights();
  weights.addMatrix(f32, 10, 16, undefined, undefined); // 0: embedding, head
  await weights.packBytes(0, new Uint8Array(10 * 16 * 4), 0, 10);
  weights.addVector(new Float32Array(16).fill(1)); // 1: norm
  weights.addMatrix(f32, 16, 16, undefined, undefined); // 2: never packed
});

afterAll(() => runtime.dispose());

async function addZeros(rows: number, columns: number): Promise<void> {
  const index = weights.addMatrix(f32, rows, columns, undefined, undefined);
  await weights.packBytes(index, new Uint8Array(rows * columns * 4), 0, rows);
}

beforeAll(async () => {
  await addZeros(64, 16); // 3: positions
  weights.addVector(new Float32Array(4).fill(1)); // 4: norm of groups
  await addZeros(3, 16); // 5: router
  await addZeros(8, 16); // 6: gates and ups of the experts
  await addZeros(16, 8); // 7: downs
});

/** One op of each kind that has something to get wrong. */
function goodProgram(): Program {
  const buffers = [
    { rows: 'tokens', width: 16, offset: 0 },
    { rows: 'tokens', width: 16, offset: 16 },
    { rows: 'tokens', width: 4, offset: 32 },
    { rows: 'outputs', width: 16, offset: 0 },
    { rows: 'outputs', width: 10, offset: 16 },
    { rows: 'tokens', width: 3, offset: 48 },
  ] as const;
  const ops: Op[] = [
    { kind: 'embed', name: 'embed', weight: 0, ids: 'tokens', scale: 1, out: view(0, 16) },
    { kind: 'rope-table', name: 'table', rope: 0, out: view(2, 4) },
    { kind: 'rms-norm', name: 'norm', x: view(0, 16), weight: 1, eps: 1e-5, out: view(1, 16) },
    { kind: 'rope', name: 'rope', x: view(1, 8), table: view(2, 4), headDim: 4, rotaryDim: 4 },
    { kind: 'write-cache', name: 'cache', layer: 0, k: view(1, 4), v: view(1, 4, 4) },
    {
      kind: 'attention',
      name: 'attention',
      layer: 0,
      q: view(1, 8, 8),
      out: view(0, 8),
      numHeads: 2,
      scale: 0.5,
      window: null,
      softcap: null,
    },
    { kind: 'add', name: 'add', residual: view(0, 8), delta: view(1, 8) },
    { kind: 'gather-rows', name: 'gather', x: view(0, 16), out: view(3, 16) },
    { kind: 'linear', name: 'head', x: view(3, 16), weights: [0], biases: [null], out: view(4, 10) },
    { kind: 'capture', name: 'capture', x: view(0, 16), capture: 0 },
    { kind: 'embed', name: 'positions', weight: 3, ids: 'positions', scale: 2, out: view(0, 16) },
    { kind: 'layer-norm', name: 'layer-norm', x: view(0, 16), weight: 1, bias: 1, eps: 1e-5, out: view(1, 16) },
    { kind: 'rms-norm', name: 'group-norm', x: view(1, 16), weight: 4, eps: 1e-5, out: view(0, 16) },
    { kind: 'activation', name: 'gelu', activation: 'gelu-tanh', x: view(0, 16), out: view(0, 16) },
    {
      kind: 'gated-activation',
      name: 'gated',
      activation: 'silu',
      gate: view(0, 8),
      up: view(0, 8, 8),
      out: view(0, 8),
    },
    { kind: 'softcap', name: 'softcap', x: view(0, 16), cap: 30 },
    { kind: 'linear', name: 'router', x: view(0, 16), weights: [5], biases: [null], out: view(5, 3) },
    {
      kind: 'moe-mlp',
      name: 'moe',
      x: view(0, 16),
      routerLogits: view(5, 3),
      gates: [6, 6, 6],
      ups: [6, 6, 6],
      downs: [7, 7, 7],
      numExpertsPerToken: 2,
      normalizeWeights: true,
      activation: 'silu',
      out: view(1, 16),
    },
  ];
  return {
    name: 'native-checks',
    hiddenSize: 16,
    vocabSize: 10,
    contextLength: 64,
    weights: [],
    buffers,
    arenaWidth: { tokens: 64, outputs: 32 },
    ropes: [{ rotaryDim: 4, attentionScaling: 1, invFreq: Float32Array.of(1, 0.1) }],
    cacheGroups: [{ window: null }],
    cacheLayers: [{ numKvHeads: 1, headDim: 4, group: 0 }],
    captures: [{ name: 'capture', rows: 'tokens', width: 16 }],
    hidden: view(3, 16),
    logits: view(4, 10),
    ops,
  };
}

const indices = [0, 1, 2, 3, 4, 5, 6, 7];
const cacheOptions = Int32Array.of(1, 16, 4);

function compile(words: Int32Array, maxTokens = 8, maxOutputRows = 4, cache = cacheOptions): NativeExecutable {
  return runtime.compile(weights, words, maxTokens, maxOutputRows, cache);
}

type Change = (program: Program) => Program;

describe('a program', () => {
  it('that is right compiles and runs', async () => {
    const executable = compile(encodeProgram(goodProgram(), indices));
    await executable.step(makeBatch([{ tokenIds: [1, 2], start: 0, blocks: [0] }]), 0, undefined, false);
    executable.dispose();
  });

  const setOp = (index: number, change: object): Change => {
    return (p) => ({ ...p, ops: p.ops.map((op, i) => (i === index ? ({ ...op, ...change } as Op) : op)) });
  };
  const wrong: [string, Change, RegExp][] = [
    ['a buffer past its arena', (p) => ({ ...p, arenaWidth: { tokens: 35, outputs: 32 } }), /does not fit/],
    ['a view of no buffer', setOp(0, { out: view(9, 16) }), /op 0: out names buffer 9/],
    ['a negative buffer', setOp(0, { out: view(-1, 16) }), /names buffer -1/],
    ['columns past a buffer', setOp(2, { out: view(1, 16, 1) }), /op 2: out takes columns 1 to 17/],
    ['a negative column', setOp(2, { out: view(1, 16, -1) }), /negative/],
    ['rows of the wrong kind', setOp(0, { out: view(3, 16) }), /op 0: out has the wrong kind of rows/],
    ['an unknown weight', setOp(0, { weight: 8 }), /There is no weight -1/],
    ['a vector for a matrix', setOp(0, { weight: 1 }), /not a complete matrix/],
    ['a matrix for a vector', setOp(2, { weight: 0 }), /not a vector/],
    ['a matrix that was never packed', setOp(8, { weights: [2] }), /weight 2 is not a complete matrix/],
    ['a matrix of another width', setOp(8, { x: view(3, 8) }), /16 columns, expected 8/],
    ['an output of another width', setOp(8, { out: view(4, 9) }), /op 8: out is 9 wide, expected 10/],
    ['a linear op without matrices', setOp(8, { weights: [], biases: [] }), /no matrix/],
    ['an output over its input', setOp(8, { x: view(0, 16), out: view(0, 10) }), /x and out overlap/],
    ['a norm that writes shifted over its input', setOp(2, { x: view(0, 8), out: view(0, 8, 4) }), /overlap/],
    ['an eps that is not finite', setOp(2, { eps: Number.NaN }), /eps/],
    ['an unknown rope', setOp(1, { rope: 1 }), /no rotary embedding 1/],
    ['a table of another width', setOp(3, { rotaryDim: 2 }), /table is 4 wide, expected 2/],
    ['more rotating dimensions than there are', setOp(3, { rotaryDim: 6 }), /cannot rotate 6/],
    ['half heads', setOp(3, { headDim: 5 }), /not whole heads/],
    ['a head size of 0', setOp(3, { headDim: 0 }), /heads of 0/],
    ['an unknown cache layer', setOp(4, { layer: 1 }), /no cache layer 1/],
    ['keys of another width', setOp(4, { k: view(1, 8) }), /k is 8 wide, expected 4/],
    ['heads that do not share', setOp(5, { numHeads: 0 }), /0 heads cannot share/],
    ['queries of another width', setOp(5, { numHeads: 4 }), /q is 8 wide, expected 16/],
    ['a scale that is not finite', setOp(5, { scale: Infinity }), /scale/],
    ['a softcap of attention below 0', setOp(5, { softcap: -1 }), /softcap is -1/],
    ['a softcap of attention that is NaN', setOp(5, { softcap: Number.NaN }), /softcap/],
    ['an unknown capture', setOp(9, { capture: 1 }), /no capture 1/],
    ['a scale of embeddings that is not finite', setOp(0, { scale: Infinity }), /scale is not finite/],
    ['a table of too few rows', setOp(10, { ids: 'tokens' }), /64 rows, expected 10/],
    ['too few positions', setOp(10, { weight: 0 }), /10 rows for 64 positions/],
    ['a layer norm of another width', setOp(11, { x: view(0, 8), out: view(1, 8) }), /not a vector of 8/],
    ['a bias that is a matrix', setOp(11, { bias: 0 }), /not a vector of 16/],
    ['an eps of a layer norm below 0', setOp(11, { eps: -1 }), /eps is -1/],
    ['half groups', setOp(12, { x: view(1, 6), out: view(0, 6) }), /not whole groups of 4/],
    ['a group norm of a matrix', setOp(12, { weight: 0 }), /not a vector/],
    ['an activation that writes shifted over its input', setOp(13, { x: view(0, 8), out: view(0, 8, 4) }), /overlap/],
    ['an activation of another width', setOp(13, { out: view(1, 8) }), /out is 8 wide, expected 16/],
    ['a cap of 0', setOp(15, { cap: 0 }), /softcap is 0/],
    ['a cap that is NaN', setOp(15, { cap: Number.NaN }), /softcap is nan/],
    ['no expert', setOp(17, { gates: [], ups: [], downs: [] }), /op 17: it has no expert/],
    ['fewer experts than logits', setOp(17, { gates: [6, 6], ups: [6, 6], downs: [7, 7] }), /3 wide, expected 2/],
    ['more experts per token than there are', setOp(17, { numExpertsPerToken: 4 }), /chooses 4 of 3 experts/],
    ['no experts per token', setOp(17, { numExpertsPerToken: 0 }), /chooses 0 of 3/],
    ['negative experts per token', setOp(17, { numExpertsPerToken: -1 }), /chooses -1 of 3/],
    ['an expert that is not there', setOp(17, { ups: [6, 6] }), /There is no weight -1/],
    ['an expert of another width', setOp(17, { ups: [6, 0, 6] }), /weight 0 has 10 rows, expected 8/],
    ['an expert that was never packed', setOp(17, { gates: [6, 2, 6] }), /weight 2 is not a complete matrix/],
    ['a down projection the wrong way round', setOp(17, { downs: [7, 7, 6] }), /16 columns, expected 8/],
    ['a mixture over its input', setOp(17, { out: view(0, 16) }), /x and out overlap/],
    [
      'a mixture over its router logits',
      setOp(17, { x: view(1, 3), routerLogits: view(0, 3), out: view(0, 3) }),
      /router logits and out overlap/,
    ],
    ['router logits of outputs', setOp(17, { routerLogits: view(4, 3) }), /router logits has the wrong kind/],
    ['logits of another width', (p) => ({ ...p, logits: view(4, 9) }), /logits is 9 wide/],
    ['hidden rows of tokens', (p) => ({ ...p, hidden: view(0, 16) }), /hidden has the wrong kind/],
    ['no vocabulary', (p) => ({ ...p, vocabSize: 0 }), /vocabulary 0/],
    ['an endless context', (p) => ({ ...p, contextLength: 2 ** 31 - 1 }), /context length/],
    [
      'angles beyond the sine',
      (p) => ({ ...p, ropes: [{ ...p.ropes[0]!, invFreq: Float32Array.of(1e6, 1) }] }),
      /angles/,
    ],
    [
      'a negative frequency',
      (p) => ({ ...p, ropes: [{ ...p.ropes[0]!, invFreq: Float32Array.of(-1, 1) }] }),
      /frequency/,
    ],
    ['a layer without heads', (p) => ({ ...p, cacheLayers: [{ numKvHeads: 0, headDim: 4, group: 0 }] }), /0 heads/],
    ['giant heads', (p) => ({ ...p, cacheLayers: [{ numKvHeads: 1, headDim: 2 ** 30, group: 0 }] }), /dimensions/],
    ['a layer of no group', (p) => ({ ...p, cacheLayers: [{ numKvHeads: 1, headDim: 4, group: 1 }] }), /group 1 of 1/],
  ];
  it.each(wrong)('with %s is refused', (_, change, message) => {
    expect(() => compile(encodeProgram(change(goodProgram()), indices))).toThrow(message);
  });

  it('that is cut short anywhere, or goes on, is refused', () => {
    const words = encodeProgram(goodProgram(), indices);
    for (let length = 0; length < words.length; length++) {
      expect(() => compile(words.slice(0, length)), `${length} words`).toThrow(/words|ops/);
    }
    expect(() => compile(Int32Array.of(...words, 0))).toThrow(/goes on/);
  });

  it('with any one word changed is refused or harmless', async () => {
    // Every word set to values that tend to break things; whatever compiles must also run or fail in order.
    const words = encodeProgram(goodProgram(), indices);
    const batch = makeBatch([{ tokenIds: [1, 2, 3], start: 5, blocks: [1] }]);
    for (let at = 0; at < words.length; at++) {
      for (const value of [-1, 0, 1, 3, 17, 2 ** 31 - 1, -(2 ** 31)]) {
        const changed = words.slice();
        changed[at] = value;
        let executable: NativeExecutable;
        try {
          executable = compile(changed);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid_argument|limit_exceeded)$/) });
          continue;
        }
        try {
          await executable.step(batch, 0, undefined, false);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid_argument|numeric)$/) });
        }
        executable.dispose();
      }
    }
  });

  it('is refused in another encoding', () => {
    const words = encodeProgram(goodProgram(), indices);
    words[0] = 99;
    expect(() => compile(words)).toThrow(/version 99.*pnpm build:native/);
  });

  it('is refused with options out of range', () => {
    const words = encodeProgram(goodProgram(), indices);
    expect(() => compile(words, 0)).toThrow(/maxTokens/);
    expect(() => compile(words, 8, 0)).toThrow(/maxOutputRows/);
    expect(() => compile(words, 8, 4, Int32Array.of(2, 16, 4))).toThrow(/cache type 2/);
    expect(() => compile(words, 8, 4, Int32Array.of(1, 24, 4))).toThrow(/block size/);
    expect(() => compile(words, 8, 4, Int32Array.of(1, 16, 0))).toThrow(/at least one block/);
    expect(() => compile(words, 8, 4, Int32Array.of(1, 16))).toThrow(/3 entries/);
  });
});

describe('a batch', () => {
  let executable: NativeExecutable;
  beforeAll(() => {
    executable = compile(encodeProgram(goodProgram(), indices));
  });
  afterAll(() => executable.dispose());

  const good: Batch = makeBatch([
    { tokenIds: [1, 2, 3], start: 4, blocks: [0] },
    { tokenIds: [9], start: 20, blocks: [1, 2] },
  ]);
  const wrong: [string, object, RegExp][] = [
    ['no tokens', { tokenIds: new Int32Array(0) }, /0 tokens/],
    ['too many tokens', { tokenIds: new Int32Array(9) }, /9 tokens/],
    ['a token id past the vocabulary', { tokenIds: Int32Array.of(1, 2, 10, 9) }, /token id 10/],
    ['a negative token id', { tokenIds: Int32Array.of(1, -2, 3, 9) }, /token id -2/],
    ['a position too far', { positions: Int32Array.of(4, 5, 7, 20) }, /position 7, expected 6/],
    ['too few positions', { positions: Int32Array.of(4, 5, 6) }, /3 entries/],
    ['cuSeqlensQ out of order', { cuSeqlensQ: Int32Array.of(0, 5, 4) }, /cuSeqlensQ/],
    ['cuSeqlensQ that is short', { cuSeqlensQ: Int32Array.of(0, 4) }, /2 entries/],
    ['a context past the limit', { contextLens: Int32Array.of(7, 65) }, /context of 65/],
    ['a context of 0', { contextLens: Int32Array.of(0, 21) }, /context of 0/],
    ['a negative context', { contextLens: Int32Array.of(7, -5) }, /context of -5/],
    ['no block table', { blockTables: [] }, /0 block tables/],
    ['a block past the cache', { blockTables: [{ blocks: Int32Array.of(0, -1, 1, 4), maxBlocks: 2 }] }, /block 4/],
    ['a negative block', { blockTables: [{ blocks: Int32Array.of(-1, -1, 1, 2), maxBlocks: 2 }] }, /block -1/],
    ['a table with a row missing', { blockTables: [{ blocks: Int32Array.of(0, 1), maxBlocks: 2 }] }, /block table 0/],
    ['a table that is too narrow', { blockTables: [{ blocks: Int32Array.of(0, 1), maxBlocks: 1 }] }, /block table 0/],
    ['a table of huge width', { blockTables: [{ blocks: Int32Array.of(0, 1), maxBlocks: 2 ** 52 }] }, /block table 0/],
    ['an output row past the tokens', { outputRows: Int32Array.of(4) }, /outputRows/],
    ['output rows out of order', { outputRows: Int32Array.of(3, 1) }, /outputRows/],
    ['too many output rows', { outputRows: new Int32Array(5) }, /5 output rows/],
    ['floats for ids', { tokenIds: new Float32Array(4) }, /tokenIds must be an Int32Array/],
    ['a list for positions', { positions: [4, 5, 6, 20] }, /positions must be an Int32Array/],
    ['tables that are no list', { blockTables: 5 }, /blockTables must be an array/],
    ['a table that is no object', { blockTables: [null] }, /Block table 0 must be an object/],
  ];
  it.each(wrong)('with %s is refused', (_, change, message) => {
    expect(() => executable.step({ ...good, ...change } as Batch, 0, undefined, false)).toThrow(message);
  });

  it('that is right runs after all of them', async () => {
    await executable.step(good, 0, undefined, false);
  });

  it('whose getters throw, or step, is refused', async () => {
    const throwing = Object.defineProperty({ ...good }, 'positions', {
      get: () => {
        throw new RangeError('from a getter');
      },
    });
    expect(() => executable.step(throwing, 0, undefined, false)).toThrow('from a getter');
    const stepping = Object.defineProperty({ ...good }, 'positions', {
      get: () => {
        expect(() => executable.step(good, 0, undefined, false)).toThrow(/A step is running/);
        return good.positions;
      },
    });
    await executable.step(stepping, 0, undefined, false);
  });

  it('with an unknown output, or ids that do not fit it, is refused', () => {
    expect(() => executable.step(good, 3, undefined, false)).toThrow(/output kind 3/);
    expect(() => executable.step(good, 2, undefined, false)).toThrow(/tokenIds must be/);
    expect(() => executable.step(good, 2, Int32Array.of(1), false)).toThrow(/1 entries for 2 output rows/);
    expect(() => executable.step(good, 2, Int32Array.of(1, 10), false)).toThrow(/Token id 10/);
  });
});

describe('weights', () => {
  it('refuse sizes, rows and bytes that do not belong', async () => {
    const mine = runtime.createWeights();
    expect(() => mine.addMatrix(99, 8, 8, undefined, undefined)).toThrow(/no dtype 99/);
    expect(() => mine.addMatrix(f32, 0, 8, undefined, undefined)).toThrow(/0 x 8/);
    expect(() => mine.addMatrix(f32, 2 ** 31, 8, undefined, undefined)).toThrow(/outside the limits/);
    expect(() => mine.addMatrix(f32, 2 ** 30, 2 ** 30, undefined, undefined)).toThrow(/no machine has|no memory/);
    expect(() => mine.addMatrix(4, 8, 33, undefined, undefined)).toThrow(/multiple of 32/);
    expect(() => mine.addMatrix(f32, 2, 2, Uint32Array.of(0, 0), undefined)).toThrow(/row order/);
    expect(() => mine.addMatrix(f32, 2, 2, Uint32Array.of(0, 2), undefined)).toThrow(/row order/);
    expect(() => mine.addMatrix(f32, 2, 2, Uint32Array.of(0), undefined)).toThrow(/1 entries for 2/);
    expect(() => mine.addMatrix(f32, 2, 2, undefined, Uint32Array.of(0, 1))).toThrow(
      /f32 matrix cannot have a column order/,
    );
    expect(() => mine.addMatrix(3, 2, 32, undefined, new Uint32Array(32))).toThrow(/column order names column 0 at 1/);
    expect(() => mine.addMatrix(3, 2, 32, undefined, new Uint32Array(31))).toThrow(/31 entries for 32 columns/);
    expect(() => mine.addMatrix(3, 2, 32, undefined, [] as never)).toThrow(/columnOrder must be a Uint32Array/);
    expect(() => mine.addMatrix(11, 8, 128, undefined, undefined)).toThrow(/multiple of 256/);
    expect(() => mine.addVector(new Float32Array(0))).toThrow(/0 elements/);
    expect(mine.addMatrix(f32, 4, 2, undefined, undefined)).toBe(0);
    await expect(mine.packBytes(0, new Uint8Array(16), 1, 2)).rejects.toThrow(/cannot be packed after 0 of 4/);
    await expect(mine.packBytes(0, new Uint8Array(40), 0, 5)).rejects.toThrow(/cannot be packed/);
    await expect(mine.packBytes(0, new Uint8Array(15), 0, 2)).rejects.toThrow(/take 16 bytes, got 15/);
    await expect(mine.packBytes(1, new Uint8Array(16), 0, 2)).rejects.toThrow(/no weight 1/);
    mine.dispose();
    expect(() => mine.addVector(new Float32Array(1))).toThrow(/disposed/);
  });

  it('are not touched while rows are packed', async () => {
    const mine = runtime.createWeights();
    mine.addMatrix(f32, 8, 8, undefined, undefined);
    const packing = mine.packBytes(0, new Uint8Array(256), 0, 8);
    expect(() => mine.addVector(new Float32Array(1))).toThrow(/still being packed/);
    expect(() => runtime.compile(mine, new Int32Array(1), 1, 1, cacheOptions)).toThrow(/still being packed/);
    mine.dispose(); // the job keeps what it needs
    await packing;
  });

  it('are not mistaken for other objects', () => {
    const words = encodeProgram(goodProgram(), indices);
    for (const stranger of [{}, runtime, null, 5, new Float32Array(2)]) {
      expect(() => runtime.compile(stranger as never, words, 8, 4, cacheOptions)).toThrow(/not what this addon made/);
    }
    const { step } = compile(words);
    expect(() => step.call({} as never, {} as Batch, 0, undefined, false)).toThrow();
  });
});
