import type { Op } from '@hearth/core';
import { type CaseWeight, type KernelCase, kernelCase, measuredName, view } from './kernel-case.ts';

const tokenCounts = [1, 64];
/** Ops in a row, so that handing one out and its time are seen as in a model. */
const repeats = 32;

const hidden = 2048;
const mlp = 5632;
const headDim = 64;

interface RowKernel {
  readonly kernel: string;
  readonly width: number;
  readonly weights?: readonly CaseWeight[];
  readonly op: Op;
}

const name = measuredName;
const vector: CaseWeight = { dtype: 'f32', shape: [hidden] };
const x = view(0, hidden);
const out = view(1, hidden);
const wide = { gate: view(0, mlp), out: view(1, mlp) };

/** Sizes of the 1.1B Llama. */
const kernels: readonly RowKernel[] = [
  {
    kernel: 'rms-norm',
    width: hidden,
    weights: [vector],
    op: { kind: 'rms-norm', name, x, weight: 0, eps: 1e-5, out },
  },
  {
    kernel: 'add-rms-norm',
    width: hidden,
    weights: [vector],
    op: {
      kind: 'add-rms-norm',
      name,
      sumName: name,
      residual: out,
      delta: x,
      weight: 0,
      eps: 1e-5,
      out: view(2, hidden),
    },
  },
  {
    kernel: 'layer-norm',
    width: hidden,
    weights: [vector, vector],
    op: { kind: 'layer-norm', name, x, weight: 0, bias: 1, eps: 1e-5, out },
  },
  { kernel: 'add', width: hidden, op: { kind: 'add', name, residual: out, delta: x } },
  {
    kernel: 'rope',
    width: hidden,
    op: { kind: 'rope', name, x, table: view(2, headDim), headDim, rotaryDim: headDim },
  },
  { kernel: 'silu', width: mlp, op: { kind: 'activation', name, activation: 'silu', x: wide.gate, out: wide.out } },
  {
    kernel: 'silu · up',
    width: mlp,
    op: { kind: 'gated-activation', name, activation: 'silu', gate: wide.gate, up: wide.gate, out: wide.out },
  },
  {
    kernel: 'gelu-tanh · up',
    width: mlp,
    op: { kind: 'gated-activation', name, activation: 'gelu-tanh', gate: wide.gate, up: wide.gate, out: wide.out },
  },
  { kernel: 'softcap', width: hidden, op: { kind: 'softcap', name, x, cap: 30 } },
  {
    kernel: 'write-cache',
    width: hidden,
    op: { kind: 'write-cache', name, layer: 0, k: view(0, 256), v: view(0, 256, 256) },
  },
];

export function rowCases(): KernelCase[] {
  return kernels.flatMap(({ kernel, width, weights, op }) =>
    tokenCounts.map((numTokens) =>
      kernelCase({
        ...{ group: 'rows', kernel, shape: `${numTokens} x ${width}`, numTokens, weights: weights ?? [] },
        inputWidth: width,
        outWidth: width,
        extraWidth: width,
        cacheLayers: [{ numKvHeads: 4, headDim, group: 0 }],
        ropes: [{ invFreq: new Float32Array(headDim / 2).fill(0.01), rotaryDim: headDim, attentionScaling: 1 }],
        // What is added to starts at zero in no program: silu of the input makes it.
        before: [
          { kind: 'activation', name: 'start', activation: 'silu', x: view(0, width), out: view(1, width) },
          { kind: 'rope-table', name: 'table', rope: 0, out: view(2, headDim) },
        ],
        ops: Array.from({ length: repeats }, () => op),
      }),
    ),
  );
}
