import type { Op, Program, View } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { type OpWork, opWork, type StepShape, sumWork } from './op-work.ts';

const tokens = (width: number): View => ({ buffer: 0, column: 0, width });
const outputs = (width: number): View => ({ buffer: 1, column: 0, width });

const weights = {
  /** 16 rows of 64 in q4_0: 2 blocks of 18 bytes each. */
  quantized: 0,
  /** 10 rows, which take two tiles, of 64 in f16. */
  half: 1,
  vector: 2,
  /** 64 rows of 256 in q4_k, which packs 256 elements into 148 bytes. */
  kQuantized: 3,
} as const;
const weightDtypes = ['q4_0', 'f16', 'f32', 'q4_k'] as const;

const program: Program = {
  name: 'work',
  hiddenSize: 64,
  vocabSize: 16,
  contextLength: 4096,
  weights: [
    { name: 'quantized', role: 'matrix', shape: [16, 64] },
    { name: 'half', role: 'matrix', shape: [10, 64] },
    { name: 'vector', role: 'vector', shape: [64] },
    { name: 'kQuantized', role: 'matrix', shape: [64, 256] },
  ],
  buffers: [
    { rows: 'tokens', width: 512, offset: 0 },
    { rows: 'outputs', width: 64, offset: 0 },
  ],
  arenaWidth: { tokens: 512, outputs: 64 },
  ropes: [],
  cacheGroups: [{ window: null }],
  cacheLayers: [{ numKvHeads: 2, headDim: 16, group: 0 }],
  ops: [],
  hidden: outputs(64),
  logits: outputs(16),
  captures: [],
};

/** Keys and values of 2 heads of 16 in f16. */
const bytesPerPosition = 2 * 2 * 16 * 2;

function work(op: Op, step: StepShape): Partial<OpWork> {
  const counted = opWork(op, program, { weightDtypes, cacheBytesPerPosition: [bytesPerPosition] }, step);
  return Object.fromEntries(Object.entries(counted).filter(([, value]) => value !== 0));
}

const step = (numTokens: number, contextLength = numTokens, numOutputRows = 1): StepShape => ({
  numOutputRows,
  sequences: [{ numTokens, contextLength }],
});

describe('the work of', () => {
  it('embed: a row of the table for each token', () => {
    const op: Op = { kind: 'embed', name: 'e', weight: weights.half, ids: 'tokens', scale: 1, out: tokens(64) };
    expect(work(op, step(5))).toEqual({ weightBytes: 5 * 64 * 2, activationBytes: 5 * 64 * 4 });
  });

  it('rope-table, rope, activations, softcap: what they read and write', () => {
    const table: Op = { kind: 'rope-table', name: 't', rope: 0, out: tokens(16) };
    expect(work(table, step(3))).toEqual({ activationBytes: 3 * 16 * 4 });
    const rope: Op = { kind: 'rope', name: 'r', x: tokens(64), table: tokens(16), headDim: 16, rotaryDim: 16 };
    expect(work(rope, step(3))).toEqual({ activationBytes: 3 * (64 + 16 + 64) * 4 });
    const gated: Op = {
      kind: 'gated-activation',
      name: 'g',
      activation: 'silu',
      gate: tokens(96),
      up: tokens(96),
      out: tokens(96),
    };
    expect(work(gated, step(2))).toEqual({ activationBytes: 2 * 3 * 96 * 4 });
    const alone: Op = { kind: 'activation', name: 'a', activation: 'silu', x: tokens(96), out: tokens(96) };
    expect(work(alone, step(2))).toEqual({ activationBytes: 2 * 2 * 96 * 4 });
    const softcap: Op = { kind: 'softcap', name: 's', x: outputs(16), cap: 30 };
    expect(work(softcap, step(9, 9, 2))).toEqual({ activationBytes: 2 * 2 * 16 * 4 });
  });

  it('norms and sums: their weights once for all rows', () => {
    const rms: Op = { kind: 'rms-norm', name: 'n', x: tokens(64), weight: weights.vector, eps: 0, out: tokens(64) };
    expect(work(rms, step(3))).toEqual({ weightBytes: 256, activationBytes: 3 * 2 * 64 * 4 });
    const layer: Op = { ...rms, kind: 'layer-norm', bias: weights.vector };
    expect(work(layer, step(3))).toEqual({ weightBytes: 512, activationBytes: 3 * 2 * 64 * 4 });
    const add: Op = { kind: 'add', name: 'a', residual: tokens(64), delta: tokens(64) };
    expect(work(add, step(3))).toEqual({ activationBytes: 3 * 3 * 64 * 4 });
    const both: Op = {
      kind: 'add-rms-norm',
      name: 'b',
      sumName: 's',
      residual: tokens(64),
      delta: tokens(64),
      weight: weights.vector,
      eps: 0,
      out: tokens(64),
    };
    expect(work(both, step(3))).toEqual({ weightBytes: 256, activationBytes: 3 * 4 * 64 * 4 });
  });

  it('linear: each matrix once, padded to tiles; products by the type of the weights', () => {
    const op: Op = {
      kind: 'linear',
      name: 'l',
      x: tokens(64),
      weights: [weights.quantized, weights.half],
      biases: [weights.vector, null],
      out: tokens(26),
    };
    expect(work(op, step(7))).toEqual({
      weightBytes: 16 * 2 * 18 + 16 * 64 * 2 + 64 * 4,
      activationBytes: 7 * (64 + 26) * 4,
      integerOps: 2 * 7 * 16 * 64,
      floatOps: 2 * 7 * 10 * 64,
    });
  });

  it('linear on rows of outputs: nothing when no output is wanted', () => {
    const op: Op = {
      kind: 'linear',
      name: 'head',
      x: outputs(64),
      weights: [weights.quantized],
      biases: [null],
      out: outputs(16),
    };
    expect(work(op, step(7, 7, 0))).toEqual({});
    expect(work(op, step(7, 7, 2))).toMatchObject({ weightBytes: 16 * 2 * 18, integerOps: 2 * 2 * 16 * 64 });
  });

  it('gather-rows: the rows that are wanted, in both kinds of rows; capture: a copy', () => {
    const gather: Op = { kind: 'gather-rows', name: 'g', x: tokens(64), out: outputs(64) };
    expect(work(gather, step(7, 7, 2))).toEqual({ activationBytes: 2 * 2 * 64 * 4 });
    expect(work({ kind: 'capture', name: 'c', x: tokens(64), capture: 0 }, step(7))).toEqual({
      activationBytes: 7 * 2 * 64 * 4,
    });
  });

  it('write-cache: the positions of the step', () => {
    const op: Op = { kind: 'write-cache', name: 'w', layer: 0, k: tokens(32), v: tokens(32) };
    expect(work(op, step(3, 100))).toEqual({ cacheBytes: 3 * bytesPerPosition, activationBytes: 3 * 2 * 32 * 4 });
  });

  describe('attention', () => {
    const op = (window: number | null): Op => ({
      kind: 'attention',
      name: 'a',
      layer: 0,
      q: tokens(64),
      out: tokens(64),
      numHeads: 4,
      scale: 1,
      window,
      softcap: null,
    });
    // Scores and values: a multiply-add each, for each of 4 heads of 16.
    const opsPerPair = 2 * 2 * 4 * 16;

    it('reads the context once, and pairs each query with what it sees', () => {
      expect(work(op(null), step(1, 10))).toEqual({
        cacheBytes: 10 * bytesPerPosition,
        activationBytes: 2 * 64 * 4,
        floatOps: 10 * opsPerPair,
      });
      expect(work(op(null), step(3, 10))).toMatchObject({
        cacheBytes: 10 * bytesPerPosition,
        floatOps: (8 + 9 + 10) * opsPerPair,
      });
    });

    it('leaves out what no query sees through its window', () => {
      // Positions 7, 8, 9 with a window of 4 see 4 .. 7, 5 .. 8, 6 .. 9.
      expect(work(op(4), step(3, 10))).toMatchObject({
        cacheBytes: 6 * bytesPerPosition,
        floatOps: 3 * 4 * opsPerPair,
      });
      // The first queries see less than a window.
      expect(work(op(4), step(6))).toMatchObject({
        cacheBytes: 6 * bytesPerPosition,
        floatOps: (1 + 2 + 3 + 4 + 4 + 4) * opsPerPair,
      });
    });

    it('reads the context of each sequence', () => {
      const sequences = [
        { numTokens: 1, contextLength: 5 },
        { numTokens: 2, contextLength: 2 },
      ];
      expect(work(op(null), { numOutputRows: 2, sequences })).toEqual({
        cacheBytes: 7 * bytesPerPosition,
        activationBytes: 3 * 2 * 64 * 4,
        floatOps: (5 + 1 + 2) * opsPerPair,
      });
    });
  });

  it('moe-mlp: products of the chosen experts, weights of as many as could be chosen', () => {
    const experts = [0, 1, 2, 3];
    const op: Op = {
      kind: 'moe-mlp',
      name: 'm',
      x: tokens(256),
      routerLogits: tokens(4),
      gates: experts.map(() => weights.kQuantized),
      ups: experts.map(() => weights.kQuantized),
      downs: experts.map(() => weights.kQuantized),
      numExpertsPerToken: 2,
      normalizeWeights: true,
      activation: 'silu',
      out: tokens(256),
    };
    const expertBytes = 3 * 64 * 148;
    const expertOps = 3 * 2 * 64 * 256;
    expect(work(op, step(1))).toEqual({
      weightBytes: 2 * expertBytes,
      activationBytes: (256 + 4 + 256) * 4,
      integerOps: 2 * expertOps,
    });
    expect(work(op, step(9))).toMatchObject({ weightBytes: 4 * expertBytes, integerOps: 9 * 2 * expertOps });
  });
});

it('adds up work, taking what is absent as nothing', () => {
  const nothing = { weightBytes: 0, cacheBytes: 0, activationBytes: 0, integerOps: 0, floatOps: 0 };
  expect(sumWork([{ weightBytes: 1 }, { weightBytes: 2, floatOps: 3 }])).toEqual({
    ...nothing,
    weightBytes: 3,
    floatOps: 3,
  });
  expect(sumWork([])).toEqual(nothing);
});
