import type { WeightDtype } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { firstBlocks, makeBatch } from './__fixtures__/batches.ts';
import { vector, view } from './__fixtures__/compare-ops.ts';
import { compileOps, type OpProgram } from './__fixtures__/op-program.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { sampleRow } from './__fixtures__/sample-row.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { loadAddon } from './load-addon.ts';

describe.each(supportedVariants)('steps (%s)', (variant) => {
  it('allocate nothing after the first one', async () => {
    const { testing } = loadAddon();
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const before = testing.allocationCount();
    const executable = await tinyLlama(backend, { dtype: 'q4_1' });
    expect(testing.allocationCount()).toBeGreaterThan(before); // the counter counts

    const blocks = firstBlocks(executable, 700);
    const decode = (position: number) => executable.step(makeBatch([{ tokenIds: [7], start: position, blocks }]));
    await decode(0);
    const afterFirst = testing.allocationCount();
    for (let position = 1; position <= 100; position++) await decode(position);
    // Prefill, several sequences, and a context long enough for groups to be spread over threads.
    await executable.step(makeBatch([{ tokenIds: Array(200).fill(3), start: 101, blocks, outputs: [5, 199] }]));
    await decode(600);
    const everything = sampleRow({
      promptTokenIds: [1, 2],
      completionTokenIds: [3],
      repetitionPenalty: 2,
      frequencyPenalty: 1,
      logitBias: new Map([[5, 1]]),
      typicalP: 0.9,
      mask: new Uint32Array(3).fill(0xffff),
    });
    const rows = [sampleRow({ topK: 20 }), { kind: 'logprob', tokenId: 3 } as const, everything];
    const threeRows = makeBatch([{ tokenIds: [7, 8, 9], start: 301, blocks, outputs: [0, 1, 2] }]);
    await executable.step(threeRows, { output: { kind: 'rows', rows } });
    expect(testing.allocationCount()).toBe(afterFirst);
  });

  it('of the ops of other families allocate nothing after the first one', async () => {
    const { testing } = loadAddon();
    const { executable, dispose } = await compileOps(await cpuBackend({ variant, numThreads: 2 }), manyOps());
    const step = (tokens: number) => {
      const tokenIds = Array.from({ length: tokens }, (_, t) => (t * 29) % 100);
      return executable.step(makeBatch([{ tokenIds, start: 0, blocks: [0, 1, 2, 3, 4, 5, 6] }]));
    };
    await step(1);
    const afterFirst = testing.allocationCount();
    for (const tokens of [100, 1, 64, 3, 100]) await step(tokens);
    expect(testing.allocationCount()).toBe(afterFirst);
    await dispose();
  });
});

/** Embeddings by position, norms, a capped attention with a window, activations, and a mixture of experts that takes several runs. */
function manyOps(): OpProgram {
  const random = seededRandom(1);
  const matrix = (rows: number, columns: number, dtype: WeightDtype) =>
    ({ role: 'matrix', shape: [rows, columns], values: randomFloats(random, rows * columns, 0.2), dtype }) as const;
  const [x, y, router] = [view(0, 0, 32), view(1, 0, 32), view(0, 32, 4)];
  return {
    input: randomFloats(random, 100 * 36),
    inputWidth: 36,
    buffers: [32],
    weights: [
      matrix(100, 32, 'f16'),
      vector(new Float32Array(32).fill(1)),
      vector(new Float32Array(8).fill(1)),
      matrix(64, 32, 'q4_0'),
      matrix(32, 64, 'f16'),
      matrix(64, 32, 'f32'),
    ],
    frame: { cacheLayers: [{ numKvHeads: 1, headDim: 8, group: 0 }], cacheGroups: [{ window: 20 }] },
    ops: [
      { kind: 'embed', name: 'embed', weight: 0, ids: 'positions', scale: 3, out: y },
      { kind: 'layer-norm', name: 'norm', x: y, weight: 1, bias: 1, eps: 1e-5, out: x },
      { kind: 'rms-norm', name: 'norm', x, weight: 2, eps: 1e-5, out: y },
      { kind: 'write-cache', name: 'cache', layer: 0, k: view(0, 0, 8), v: view(0, 8, 8) },
      {
        kind: 'attention',
        name: 'attention',
        layer: 0,
        q: y,
        out: x,
        numHeads: 4,
        scale: 1,
        window: 20,
        softcap: 30,
      },
      { kind: 'activation', name: 'act', activation: 'gelu-tanh', x, out: x },
      { kind: 'softcap', name: 'cap', x: y, cap: 5 },
      { kind: 'add', name: 'add', residual: x, delta: y },
      {
        kind: 'moe-mlp',
        name: 'moe',
        x,
        routerLogits: router,
        gates: [3, 3, 5, 3],
        ups: [3, 5, 5, 3],
        downs: [4, 4, 4, 4],
        numExpertsPerToken: 3,
        normalizeWeights: true,
        activation: 'silu',
        out: y,
      },
    ],
  };
}
