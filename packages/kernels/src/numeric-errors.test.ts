import { type CacheDtype, NumericError, type Op, type WeightSource } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { backendsToCompare, cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { makeBatch } from './__fixtures__/batches.ts';
import { vector, view } from './__fixtures__/compare-ops.ts';
import { runOps, type TestWeight } from './__fixtures__/op-program.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { weightSource } from './__fixtures__/weight-source.ts';

/** Runs three tokens with one weight replaced, and gives the name in the error. */
async function failingOp(
  variant: string,
  name: string,
  change: (values: Float32Array) => void,
  cacheDtype: CacheDtype = 'f16',
): Promise<string> {
  const backend = await cpuBackend({ variant, numThreads: 2 });
  const edit = (sources: Map<string, WeightSource>) => {
    const { shape } = sources.get(name)!;
    const values = randomFloats(
      seededRandom(1),
      shape.reduce((a, b) => a * b),
      0.2,
    );
    change(values);
    sources.set(name, weightSource(name, shape, values));
  };
  const executable = await tinyLlama(backend, { edit, cacheDtype });
  const step = executable.step(makeBatch([{ tokenIds: [1, 2, 3], start: 0, blocks: [0] }]));
  const error = await step.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(NumericError);
  expect((error as Error).message).toContain((error as NumericError).op);
  return (error as NumericError).op;
}

describe.each(supportedVariants)('the first op that is not finite is named (%s)', (variant) => {
  const setFirst = (value: number) => (values: Float32Array) => {
    values[0] = value;
  };

  it('embed', async () => {
    const rowOfToken2 = (values: Float32Array) => values.fill(Number.NaN, 2 * 64, 2 * 64 + 1);
    expect(await failingOp(variant, 'model.embed_tokens.weight', rowOfToken2)).toBe('model.embed_tokens');
  });

  it('rms-norm', async () => {
    const name = 'model.layers.0.input_layernorm';
    expect(await failingOp(variant, `${name}.weight`, setFirst(Infinity))).toBe(name);
  });

  it('linear', async () => {
    const name = 'model.layers.1.mlp.down_proj';
    expect(await failingOp(variant, `${name}.weight`, setFirst(Number.NaN))).toBe(name);
  });

  it.each([
    ['sum', 3e38, 1],
    ['norm', 1, 3e38],
  ])('the %s of an add-rms-norm', async (expected, value, weight) => {
    // value + value overflows before the norm is taken; a norm weight of 3e38 overflows after it.
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const step = runOps(backend, {
      // A second row that overflows in the norm only: the sum still comes first in program order.
      input: Float32Array.of(1, 0, 1, 0, value, 0, value, 0).map((x, i) => (i < 4 ? x * 2 : x)),
      inputWidth: 4,
      buffers: [2],
      weights: [{ role: 'vector', shape: [2], values: new Float32Array(2).fill(weight === 1 ? 1 : 3e38) }],
      ops: [
        {
          kind: 'add-rms-norm',
          name: 'norm',
          sumName: 'sum',
          residual: { buffer: 0, column: 0, width: 2 },
          delta: { buffer: 0, column: 2, width: 2 },
          weight: 0,
          eps: 1e-6,
          out: { buffer: 1, column: 0, width: 2 },
        },
      ],
    });
    await expect(step).rejects.toMatchObject({ name: 'NumericError', op: expected });
  });

  it('a key that f16 cannot hold, but f32 can', async () => {
    const name = 'model.layers.0.self_attn.k_proj.weight';
    const huge = (values: Float32Array) => values.fill(40_000);
    const op = await failingOp(variant, name, huge);
    expect(op).toMatch(/^model\.layers\.0\.self_attn/);
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const wide = await tinyLlama(backend, {
      cacheDtype: 'f32',
      edit: (sources) => {
        const values = new Float32Array(32 * 64).fill(40_000);
        sources.set(name, weightSource(name, [32, 64], values));
      },
    });
    await expect(wide.step(makeBatch([{ tokenIds: [1], start: 0, blocks: [0] }]))).resolves.toBeDefined();
  });

  it('leaves the executable usable', async () => {
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const executable = await tinyLlama(backend, {
      edit: (sources) => {
        const table = randomFloats(seededRandom(1), 96 * 64);
        table[5 * 64] = Number.NaN;
        sources.set('model.embed_tokens.weight', weightSource('model.embed_tokens.weight', [96, 64], table));
      },
    });
    // Hidden rows only: the tied head would meet the damaged row.
    const output = { kind: 'hidden' } as const;
    const good = makeBatch([{ tokenIds: [1], start: 0, blocks: [0] }]);
    const before = (await executable.step(good, { output })).hidden!.slice();
    const bad = makeBatch([{ tokenIds: [5], start: 0, blocks: [1] }]);
    await expect(executable.step(bad, { output })).rejects.toThrow(NumericError);
    expect((await executable.step(good, { output })).hidden).toEqual(before);
  });
});

describe('the op is named in every backend', () => {
  const [x, y, out] = [view(0, 0, 2), view(0, 2, 2), view(1, 0, 2)];
  const huge = vector(new Float32Array(2).fill(3e38));
  const matrix = (value: number) =>
    ({ role: 'matrix', shape: [2, 2], values: new Float32Array(4).fill(value) }) as const;
  const moe = {
    kind: 'moe-mlp',
    name: 'moe',
    x,
    routerLogits: y,
    gates: [0, 0],
    ups: [0, 1],
    downs: [2, 2],
    numExpertsPerToken: 2,
    normalizeWeights: false,
    activation: 'silu',
    out,
  } as const;
  it.each<[string, Op, readonly TestWeight[]]>([
    [
      'an embed whose scale is too large',
      { kind: 'embed', name: 'embed', weight: 0, ids: 'tokens', scale: 3e38, out },
      [matrix(2)],
    ],
    ['a layer norm', { kind: 'layer-norm', name: 'norm', x, weight: 0, bias: 0, eps: 1e-5, out }, [huge]],
    [
      'a norm of groups',
      { kind: 'rms-norm', name: 'norm', x, weight: 0, eps: 0, out },
      [vector(Float32Array.of(Infinity))],
    ],
    [
      'a gated activation',
      { kind: 'gated-activation', name: 'gated', activation: 'gelu-tanh', gate: y, up: y, out },
      [],
    ],
    ['a mixture whose sum is too large', moe, [matrix(1), matrix(1), matrix(3e38)]],
    ['a mixture, within an expert that counts for nothing', moe, [matrix(1), matrix(3e38), matrix(1)]],
  ])('%s', async (_, op, weights) => {
    const input = Float32Array.of(3, 4, 1e20, 0, 3, 4, 1e20, 0);
    for (const { backend } of await backendsToCompare()) {
      const step = runOps(backend, { input, inputWidth: 4, buffers: [2], weights, ops: [op] });
      await expect(step).rejects.toMatchObject({ name: 'NumericError', op: op.name });
    }
  });
});
