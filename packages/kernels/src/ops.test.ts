import type { Op, RopeSpec } from '@hearth/core';
import { describe, it } from 'vitest';
import { awkwardSizes } from './__fixtures__/bits.ts';
import { awkwardFloats, expectSame, vector, view } from './__fixtures__/compare-ops.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';

// Every op in every variant against the reference, bit for bit, in awkward sizes and on columns that start anywhere. Weights
// that come in blocks are in quantized-linear.test.ts.

describe.each(awkwardSizes)('rows of %i', (width) => {
  it('rms-norm, into other columns', async () => {
    await expectSame({
      input: awkwardFloats(5 * (width + 3), width),
      inputWidth: width + 3,
      buffers: [width],
      weights: [vector(randomFloats(seededRandom(2), width))],
      ops: [{ kind: 'rms-norm', name: 'norm', x: view(0, 3, width), weight: 0, eps: 1e-5, out: view(1, 0, width) }],
    });
  });

  it('add-rms-norm, and add', async () => {
    const fused: Op = {
      kind: 'add-rms-norm',
      name: 'norm',
      sumName: 'sum',
      residual: view(0, 0, width),
      delta: view(0, width, width),
      weight: 0,
      eps: 1e-6,
      out: view(1, width, width),
    };
    const spec = {
      input: awkwardFloats(6 * width, width + 100),
      inputWidth: 2 * width,
      buffers: [3 * width],
      weights: [vector(randomFloats(seededRandom(3), width))],
    };
    const copy = (column: number): Op => ({
      kind: 'gated-activation',
      activation: 'silu',
      name: 'copy',
      gate: view(0, 0, width),
      up: view(0, width, width),
      out: view(1, column, width),
    });
    await expectSame({ ...spec, ops: [copy(0), fused, copy(2 * width)] });
    await expectSame({
      ...spec,
      ops: [
        copy(0),
        copy(width),
        copy(2 * width),
        { kind: 'add', name: 'add', residual: view(1, 0, width), delta: view(0, width, width) },
      ],
    });
  });

  it('gated activation, into gate', async () => {
    const columns = (i: number) => view(0, i * width + 1, width);
    await expectSame({
      input: awkwardFloats(4 * (2 * width + 1), width + 200),
      inputWidth: 2 * width + 1,
      ops: [
        {
          kind: 'gated-activation',
          activation: 'silu',
          name: 'act',
          gate: columns(0),
          up: columns(1),
          out: columns(0),
        },
      ],
    });
  });

  it('embed and linear of plain weights, several matrices, biases', async () => {
    const rows = [width, 5, 8];
    for (const dtype of ['f32', 'f16', 'bf16'] as const) {
      const matrices = rows.map((n, i) => ({
        role: 'matrix' as const,
        shape: [n, width],
        values: randomFloats(seededRandom(i + width), n * width, 0.3),
        dtype,
      }));
      const total = rows.reduce((a, b) => a + b);
      await expectSame({
        input: awkwardFloats(7 * width, width + 300),
        inputWidth: width,
        buffers: [total],
        weights: [...matrices, vector(randomFloats(seededRandom(9), width))],
        ops: [
          {
            kind: 'linear',
            name: 'linear',
            x: view(0, 0, width),
            weights: [0, 1, 2],
            biases: [3, null, null],
            out: view(1, 0, total),
          },
        ],
      });
    }
  });
});

describe('rope', () => {
  it.each([
    [2, 2],
    [6, 6],
    [16, 8],
    [24, 24],
    [33, 30],
    [64, 64],
    [128, 128],
  ])('heads of %i, %i of them rotating', async (headDim, rotaryDim) => {
    const rope: RopeSpec = {
      rotaryDim,
      attentionScaling: headDim === 24 ? 1.137 : 1,
      invFreq: Float32Array.from({ length: rotaryDim / 2 }, (_, i) => 10000 ** ((-2 * i) / rotaryDim)),
    };
    const width = 3 * headDim;
    await expectSame({
      input: awkwardFloats(9 * width, headDim),
      inputWidth: width,
      buffers: [rotaryDim, width],
      start: 1900,
      frame: { ropes: [rope], contextLength: 2048 },
      ops: [
        { kind: 'rope-table', name: 'table', rope: 0, out: view(1, 0, rotaryDim) },
        {
          kind: 'gated-activation',
          activation: 'silu',
          name: 'x',
          gate: view(0, 0, width),
          up: view(0, 0, width),
          out: view(2, 0, width),
        },
        { kind: 'rope', name: 'rope', x: view(2, 0, width), table: view(1, 0, rotaryDim), headDim, rotaryDim },
      ],
    });
  });
});

describe('write-cache and attention', () => {
  it.each([
    // headDim, heads, kvHeads, tokens, window, softcap
    [1, 1, 1, 3, null, null],
    [7, 2, 1, 17, null, null],
    [8, 3, 3, 65, null, null],
    [16, 6, 2, 66, 9, null],
    [33, 5, 1, 129, null, null],
    [64, 9, 3, 20, null, null],
    [128, 4, 2, 40, 17, null],
    [80, 5, 1, 35, null, null],
    [96, 2, 2, 70, null, null],
    [256, 7, 1, 33, 30, null],
    [40, 16, 1, 1, null, null],
    [24, 17, 1, 2, null, null],
    [7, 2, 1, 17, null, 0.5],
    [16, 4, 2, 140, null, 50],
    [33, 6, 2, 70, 65, 3],
    [64, 8, 1, 20, 7, 1e-3],
  ] as const)('heads of %i, %i on %i, %i tokens, window %s, softcap %s', async (...shape) => {
    const [headDim, numHeads, numKvHeads, tokens, window, softcap] = shape;
    const queries = numHeads * headDim;
    const keys = numKvHeads * headDim;
    for (const cacheDtype of ['f32', 'f16', 'q8'] as const) {
      await expectSame({
        // Without the large values: a softmax of them is a choice of one.
        input: randomFloats(seededRandom(headDim + tokens), tokens * (queries + 2 * keys), 1.5),
        inputWidth: queries + 2 * keys,
        buffers: [queries],
        cacheDtype,
        frame: { cacheLayers: [{ numKvHeads, headDim, group: 0 }], cacheGroups: [{ window }] },
        ops: [
          { kind: 'write-cache', name: 'cache', layer: 0, k: view(0, queries, keys), v: view(0, queries + keys, keys) },
          {
            kind: 'attention',
            name: 'attention',
            layer: 0,
            q: view(0, 0, queries),
            out: view(1, 0, queries),
            numHeads,
            scale: 1 / Math.sqrt(headDim),
            window,
            softcap,
          },
        ],
      });
    }
  });
});
