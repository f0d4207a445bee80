import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../errors/errors.ts';
import { checkProgram } from './check-program.ts';
import type { Op, Program, View } from './program.ts';

const view = (buffer: number, width: number, column = 0): View => ({ buffer, column, width });

/** One attention layer with a gated MLP, small but with every kind of op. */
function validProgram(): Program {
  const [table, x, normed, qkv, attended, gateUp, rows, logits] = [0, 1, 2, 3, 4, 5, 6, 7] as const;
  return {
    name: 'valid',
    hiddenSize: 8,
    vocabSize: 10,
    contextLength: 32,
    weights: [
      { name: 'embed', role: 'matrix', shape: [10, 8] },
      { name: 'norm', role: 'vector', shape: [8] },
      { name: 'q', role: 'matrix', shape: [8, 8] },
      { name: 'k', role: 'matrix', shape: [4, 8] },
      { name: 'v', role: 'matrix', shape: [4, 8] },
      { name: 'bias', role: 'vector', shape: [4] },
    ],
    buffers: [
      { rows: 'tokens', width: 4, offset: 0 },
      { rows: 'tokens', width: 8, offset: 16 },
      { rows: 'tokens', width: 8, offset: 32 },
      { rows: 'tokens', width: 16, offset: 48 },
      { rows: 'tokens', width: 8, offset: 32 }, // shares the columns of `normed`
      { rows: 'tokens', width: 16, offset: 48 }, // shares the columns of `qkv`
      { rows: 'outputs', width: 8, offset: 0 },
      { rows: 'outputs', width: 10, offset: 16 },
    ],
    arenaWidth: { tokens: 64, outputs: 32 },
    ropes: [{ invFreq: Float32Array.of(1, 0.1), rotaryDim: 4, attentionScaling: 1 }],
    cacheGroups: [{ window: null }],
    cacheLayers: [{ numKvHeads: 1, headDim: 4, group: 0 }],
    ops: [
      { kind: 'rope-table', name: 'rope-table', rope: 0, out: view(table, 4) },
      { kind: 'embed', name: 'embed', weight: 0, ids: 'tokens', scale: 1, out: view(x, 8) },
      { kind: 'rms-norm', name: 'norm', x: view(x, 8), weight: 1, eps: 1e-5, out: view(normed, 8) },
      {
        kind: 'linear',
        name: 'qkv',
        x: view(normed, 8),
        weights: [2, 3, 4],
        biases: [null, null, 5],
        out: view(qkv, 16),
      },
      { kind: 'rope', name: 'q_rope', x: view(qkv, 8), table: view(table, 4), headDim: 4, rotaryDim: 4 },
      { kind: 'write-cache', name: 'cache', layer: 0, k: view(qkv, 4, 8), v: view(qkv, 4, 12) },
      {
        kind: 'attention',
        name: 'attention',
        layer: 0,
        q: view(qkv, 8),
        out: view(attended, 8),
        numHeads: 2,
        scale: 0.5,
        window: null,
        softcap: null,
      },
      { kind: 'capture', name: 'attention', x: view(attended, 8), capture: 0 },
      { kind: 'add', name: 'sum', residual: view(x, 8), delta: view(attended, 8) },
      { kind: 'linear', name: 'gate_up', x: view(x, 8), weights: [2, 2], biases: [null, null], out: view(gateUp, 16) },
      {
        kind: 'gated-activation',
        name: 'act',
        activation: 'silu',
        gate: view(gateUp, 8),
        up: view(gateUp, 8, 8),
        out: view(gateUp, 8),
      },
      {
        kind: 'add-rms-norm',
        name: 'last_norm',
        sumName: 'last_sum',
        residual: view(x, 8),
        delta: view(gateUp, 8),
        weight: 1,
        eps: 1e-5,
        out: view(normed, 8),
      },
      { kind: 'gather-rows', name: 'rows', x: view(normed, 8), out: view(rows, 8) },
      { kind: 'linear', name: 'head', x: view(rows, 8), weights: [0], biases: [null], out: view(logits, 10) },
    ],
    hidden: view(rows, 8),
    logits: view(logits, 10),
    captures: [{ name: 'attention', rows: 'tokens', width: 8 }],
  };
}

/** The valid program with some fields of one op changed. */
function withOp(name: string, kind: Op['kind'], change: Record<string, unknown>): Program {
  const program = validProgram();
  const ops = program.ops.map((op) => (op.name === name && op.kind === kind ? ({ ...op, ...change } as Op) : op));
  return { ...program, ops };
}

function withBuffer(index: number, change: Partial<Program['buffers'][number]>): Program {
  const program = validProgram();
  return { ...program, buffers: program.buffers.map((buffer, i) => (i === index ? { ...buffer, ...change } : buffer)) };
}

describe('checkProgram', () => {
  it('accepts a program in order', () => {
    expect(() => checkProgram(validProgram())).not.toThrow();
  });

  it.each<[string, Program, RegExp]>([
    ['an offset that is no multiple of 16', withBuffer(1, { offset: 8 }), /buffer 1 .* multiple of 16/],
    ['a buffer past its arena', withBuffer(7, { offset: 32 }), /buffer 7 has offset 32/],
    ['a fractional width', withBuffer(0, { width: 4.5 }), /buffer 0/],
    ['a view past its buffer', withOp('norm', 'rms-norm', { x: view(1, 9) }), /"norm" .*not within its 8 columns/],
    ['a buffer that is not there', withOp('norm', 'rms-norm', { x: view(99, 8) }), /names buffer 99/],
    ['a weight that is not there', withOp('norm', 'rms-norm', { weight: 99 }), /names weight 99/],
    ['a matrix as a norm weight', withOp('norm', 'rms-norm', { weight: 2 }), /needs the vector q of \[8\]/],
    ['a weight of other columns', withOp('head', 'linear', { weights: [5] }), /needs the matrix bias/],
    ['fewer biases than weights', withOp('head', 'linear', { biases: [] }), /1 weights and 0 biases/],
    ['a bias of another length', withOp('qkv', 'linear', { biases: [5, null, null] }), /vector bias of \[8\]/],
    ['an output of another width', withOp('qkv', 'linear', { weights: [2, 3], biases: [null, null] }), /width 16.*12/],
    ['a rope that is not there', withOp('rope-table', 'rope-table', { rope: 1 }), /names rope 1/],
    ['heads that do not fill the row', withOp('q_rope', 'rope', { headDim: 3 }), /rotates 4 of 3/],
    ['a cache layer that is not there', withOp('cache', 'write-cache', { layer: 3 }), /names cache layer 3/],
    ['keys of another width', withOp('cache', 'write-cache', { k: view(3, 8) }), /k of width 8, expected 4/],
    ['a width that is not its heads', withOp('attention', 'attention', { numHeads: 3 }), /q of width 8, expected 12/],
    ['a window of nothing', withOp('attention', 'attention', { window: 0 }), /window of 0/],
    ['a softcap of nothing', withOp('attention', 'attention', { softcap: 0 }), /softcap of 0/],
    ['tokens gathered into tokens', withOp('rows', 'gather-rows', { out: view(3, 8) }), /must write rows of outputs/],
    ['rows of two kinds', withOp('sum', 'add', { delta: view(6, 8) }), /mixes rows/],
    ['a norm over its own input', withOp('norm', 'rms-norm', { out: view(1, 8) }), /over its input/],
    ['a linear over its own input', withOp('gate_up', 'linear', { x: view(3, 8) }), /over its input/],
    [
      'a gated activation that overlaps its gate in part',
      withOp('act', 'gated-activation', { out: view(5, 8, 4) }),
      /over its input/,
    ],
    ['a sum over its delta', withOp('sum', 'add', { delta: view(1, 8) }), /over its input/],
    [
      'a read of what was overwritten',
      withOp('rows', 'gather-rows', { x: view(4, 8) }),
      /not written or was overwritten/,
    ],
    ['a read before the write', withOp('norm', 'rms-norm', { x: view(3, 8) }), /not written or was overwritten/],
    ['a capture of another width', withOp('attention', 'capture', { x: view(3, 4) }), /x of width 4, expected 8/],
    ['a capture that is not there', withOp('attention', 'capture', { capture: 7 }), /names capture 7/],
    ['logits that are tokens', { ...validProgram(), logits: view(3, 10) }, /logits must have rows of outputs/],
    ['hidden of another width', { ...validProgram(), hidden: view(6, 4) }, /hidden is 4 wide/],
    [
      'a capture without an op',
      { ...validProgram(), ops: validProgram().ops.filter(({ kind }) => kind !== 'capture') },
      /1 captures have no op/,
    ],
    [
      'attention before the cache is written',
      { ...validProgram(), ops: validProgram().ops.filter(({ kind }) => kind !== 'write-cache') },
      /reads cache layer 0 unwritten/,
    ],
    ['a cache group that is not there', { ...validProgram(), cacheGroups: [] }, /cache layer 0/],
    [
      'frequencies for other dimensions',
      { ...validProgram(), ropes: [{ invFreq: Float32Array.of(1), rotaryDim: 4, attentionScaling: 1 }] },
      /1 frequencies for 4/,
    ],
  ])('refuses %s', (_, program, message) => {
    expect(() => checkProgram(program)).toThrow(InvalidArgumentError);
    expect(() => checkProgram(program)).toThrow(message);
  });
});
