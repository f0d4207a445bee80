import type { Op, Program } from '@hearth/core';
import type { NativeExecutable, NativeRuntime, NativeWeights } from '../addon-types.ts';
import { encodeProgram } from '../encode-program.ts';
import { loadAddon } from '../load-addon.ts';

// A program for the addon itself, past TypeScript's checks.

export const f32 = 0;
export const cacheOptions = Int32Array.of(1, 16, 4);

export const view = (buffer: number, width: number, column = 0) => ({ buffer, column, width });

export interface NativeProgram {
  readonly runtime: NativeRuntime;
  readonly weights: NativeWeights;
  compile(words: Int32Array, maxTokens?: number, maxOutputRows?: number, cache?: Int32Array): NativeExecutable;
}

/** A runtime with the weights of `goodProgram`, which its caller disposes. */
export async function openNativeProgram(): Promise<NativeProgram> {
  const runtime = new (loadAddon().Runtime)('', 2);
  const weights = runtime.createWeights();
  const addZeros = async (rows: number, columns: number) => {
    const index = weights.addMatrix(f32, rows, columns, undefined, undefined);
    await weights.packBytes(index, new Uint8Array(rows * columns * 4), 0, rows);
  };
  await addZeros(10, 16); // 0: embedding, head
  weights.addVector(new Float32Array(16).fill(1)); // 1: norms
  weights.addMatrix(f32, 16, 16, undefined, undefined); // 2: never packed
  await addZeros(64, 16); // 3: positions
  weights.addVector(new Float32Array(4).fill(1)); // 4: norm of groups
  await addZeros(3, 16); // 5: router
  await addZeros(8, 16); // 6: gates and ups of the experts
  await addZeros(16, 8); // 7: downs
  const compile: NativeProgram['compile'] = (words, maxTokens = 8, maxOutputRows = 4, cache = cacheOptions) =>
    runtime.compile(weights, words, maxTokens, maxOutputRows, cache);
  return { runtime, weights, compile };
}

/** Words of a program over those weights. */
export function encode(program: Program): Int32Array {
  return encodeProgram(program, [0, 1, 2, 3, 4, 5, 6, 7]);
}

/** One op of each kind that has something to get wrong. */
export function goodProgram(): Program {
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
