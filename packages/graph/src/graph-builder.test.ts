import { InvalidArgumentError, type RopeSpec } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { GraphBuilder } from './graph-builder.ts';
import { lower } from './lower.ts';

const shape = { name: 'test', hiddenSize: 8, vocabSize: 20, contextLength: 32 };
const rope: RopeSpec = { invFreq: Float32Array.of(1, 0.1), rotaryDim: 4, attentionScaling: 1 };

function start() {
  const g = new GraphBuilder(shape);
  const x = g.embed(g.weight('model.embed_tokens.weight', [20, 8]));
  return { g, x };
}

describe('GraphBuilder', () => {
  it('names values after their weights and records every weight once', () => {
    const { g, x } = start();
    const normed = g.rmsNorm(x, g.weight('model.norm.weight', [8]), 1e-5);
    const rows = g.outputRows(normed);
    const logits = g.linear(rows, g.weight('model.embed_tokens.weight', [20, 8]), { name: 'lm_head' });
    const graph = g.outputs({ hidden: rows, logits });
    expect(graph.values.map(({ name, rows, width }) => `${name} ${rows} ${width}`)).toEqual([
      'model.embed_tokens tokens 8',
      'model.norm tokens 8',
      'model.output_rows outputs 8',
      'lm_head outputs 20',
    ]);
    expect(graph.weights).toEqual([
      { name: 'model.embed_tokens.weight', role: 'matrix', shape: [20, 8] },
      { name: 'model.norm.weight', role: 'vector', shape: [8] },
    ]);
  });

  it('gives attention layers with the same window one cache group', () => {
    const { g, x } = start();
    for (const [layer, window] of [null, 16, null].entries()) {
      const attributes = { name: `attention.${layer}`, numHeads: 2, numKvHeads: 2, headDim: 4, scale: 0.5, window };
      g.attention(x, x, x, attributes);
    }
    const rows = g.outputRows(x);
    const logits = g.linear(rows, g.weight('lm_head.weight', [20, 8]));
    const graph = g.outputs({ hidden: rows, logits });
    expect(graph.cacheGroups).toEqual([{ window: null }, { window: 16 }]);
    expect(graph.cacheLayers.map(({ group }) => group)).toEqual([0, 1, 0]);
  });

  it('rounds constants to f32, as the contract says', () => {
    const { g, x } = start();
    g.rmsNorm(x, g.weight('n.weight', [8]), 1e-5);
    g.attention(x, x, x, { name: 'a', numHeads: 2, numKvHeads: 2, headDim: 4, scale: 0.3 });
    const rows = g.outputRows(x);
    const graph = g.outputs({ hidden: rows, logits: g.linear(rows, g.weight('h.weight', [20, 8])) });
    const constants = graph.nodes.map((node) => ('eps' in node ? node.eps : 'scale' in node ? node.scale : null));
    // The embedding's scale is the first.
    expect(constants.filter((value) => value !== null)).toEqual([1, Math.fround(1e-5), Math.fround(0.3)]);
  });

  it('normalises heads with a weight of one head, and leaves such norms out of the fusion', () => {
    const { g, x } = start();
    const sum = g.add(x, g.linear(x, g.weight('p.weight', [8, 8])), { name: 'sum' });
    const normed = g.rmsNorm(sum, g.weight('q_norm.weight', [4]), 1e-5);
    const rows = g.outputRows(normed);
    const graph = g.outputs({ hidden: rows, logits: g.linear(rows, g.weight('h.weight', [20, 8])) });
    expect(lower(graph).ops.map(({ kind }) => kind)).toEqual([
      'embed',
      'linear',
      'add',
      'rms-norm',
      'gather-rows',
      'linear',
    ]);
  });

  it('cuts a fused projection into views of it, which nothing else may read', () => {
    const { g, x } = start();
    const fused = g.linear(x, g.weight('qkv.weight', [16, 8]));
    const [q, k, v] = g.split(fused, [
      { name: 'q', width: 8 },
      { name: 'k', width: 4 },
      { name: 'v', width: 4 },
    ]);
    const attended = g.attention(q, k, v, { name: 'a', numHeads: 2, numKvHeads: 1, headDim: 4, scale: 1 });
    const rows = g.outputRows(attended);
    const graph = g.outputs({ hidden: rows, logits: g.linear(rows, g.weight('h.weight', [20, 8])) });
    const { ops } = lower(graph, { captures: ['qkv', 'k'] });
    expect(ops.map(({ kind }) => kind)).toEqual([
      'embed',
      'linear',
      'capture',
      'capture',
      'write-cache',
      'attention',
      'gather-rows',
      'linear',
    ]);
    const cached = ops.find((op) => op.kind === 'write-cache')!;
    expect([cached.k.column, cached.v.column]).toEqual([8, 12]);
    expect(() => g.split(x, [{ name: 'part', width: 7 }])).toThrow(
      /the parts of model.embed_tokens: got a width of 7, expected 8/,
    );
  });

  it('takes experts of one shape only', () => {
    const { g, x } = start();
    const router = g.linear(x, g.weight('gate.weight', [2, 8]));
    const expert = (e: number, width: number) => ({
      gate: g.weight(`experts.${e}.gate.weight`, [width, 8]),
      up: g.weight(`experts.${e}.up.weight`, [width, 8]),
      down: g.weight(`experts.${e}.down.weight`, [8, width]),
    });
    const routing = { name: 'mlp', activation: 'silu', numExpertsPerToken: 1, normalizeWeights: true } as const;
    expect(() => g.moeMlp(x, router, [expert(0, 4), expert(1, 6)], routing)).toThrow(
      'experts.1.gate.weight is [6,8], expected [4,8].',
    );
    expect(() => g.moeMlp(x, router, [expert(0, 4)], routing)).toThrow(/router logits\): got a width of 2, expected 1/);
    expect(g.moeMlp(x, router, [expert(0, 4), expert(2, 4)], routing).width).toBe(8);
  });

  it.each<[string, (parts: ReturnType<typeof start>) => unknown, RegExp]>([
    ['a norm of another width', ({ g, x }) => g.rmsNorm(x, g.weight('n.weight', [9]), 1e-5), /n: .*8, expected 9/],
    ['a matrix of other columns', ({ g, x }) => g.linear(x, g.weight('p.weight', [4, 9])), /p: .*8, expected 9/],
    [
      'a bias of another length',
      ({ g, x }) => g.linear(x, g.weight('p.weight', [4, 8]), { bias: g.weight('p.bias', [5]) }),
      /p \(bias\): .*4, expected 5/,
    ],
    ['a vector as a matrix', ({ g, x }) => g.linear(x, g.weight('v.weight', [8])), /v\.weight is a vector/],
    ['a matrix as a vector', ({ g, x }) => g.rmsNorm(x, g.weight('m.weight', [8, 8]), 0), /m\.weight is a matrix/],
    ['a table of other rows', ({ g }) => g.embed(g.weight('t.weight', [21, 8])), /21 rows for a vocabulary of 20/],
    ['one weight with two shapes', ({ g }) => g.weight('model.embed_tokens.weight', [8, 20]), /\[20,8\] and now as/],
    ['two values of one name', ({ g, x }) => [g.outputRows(x, 'r'), g.outputRows(x, 'r')], /named r/],
    ['heads that do not fit', ({ g, x }) => g.rope(x, g.ropeTable(rope), { name: 'q', headDim: 3 }), /heads of 3/],
    [
      'uneven groups of heads',
      ({ g, x }) => {
        const k = g.linear(x, g.weight('k.weight', [12, 8]));
        return g.attention(x, k, k, { name: 'a', numHeads: 4, numKvHeads: 6, headDim: 2, scale: 1 });
      },
      /4 heads cannot share 6/,
    ],
    [
      'keys of another width',
      ({ g, x }) => g.attention(x, x, x, { name: 'a', numHeads: 2, numKvHeads: 1, headDim: 4, scale: 1 }),
      /a \(k\): .*8, expected 4/,
    ],
    [
      'gate and up of different widths',
      ({ g, x }) => g.gatedActivation('silu', x, g.linear(x, g.weight('u.weight', [4, 8])), { name: 'act' }),
      /act: .*8, expected 4/,
    ],
    [
      'a sum of different widths',
      ({ g, x }) => g.add(x, g.linear(x, g.weight('u.weight', [4, 8])), { name: 'sum' }),
      /sum: .*8, expected 4/,
    ],
    ['logits of another width', ({ g, x }) => g.outputs({ hidden: x, logits: x }), /logits: .*8, expected 20/],
  ])('refuses %s', (_, build, message) => {
    const parts = start();
    expect(() => build(parts)).toThrow(InvalidArgumentError);
    expect(() => build(start())).toThrow(message);
  });
});
