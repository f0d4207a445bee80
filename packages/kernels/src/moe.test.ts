import type { Backend, MoeMlpOp, WeightDtype } from '@hearth/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { makeBatch } from './__fixtures__/batches.ts';
import { firstDifference } from './__fixtures__/bits.ts';
import { expectSame, view } from './__fixtures__/compare-ops.ts';
import { compileOps, type OpProgram, type TestWeight } from './__fixtures__/op-program.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { type BlockDtype, blockDtypes, randomBlocks } from './__fixtures__/random-blocks.ts';

// A mixture of experts in every variant against the reference, bit for bit, wherever the rows go.

interface Shape {
  readonly hidden: number;
  readonly expertWidth: number;
  readonly numExperts: number;
  readonly chosen: number;
  readonly rows: number;
  /** Of gate, up and down. */
  readonly dtypes?: readonly [WeightDtype, WeightDtype, WeightDtype];
  /** Column order of gate, up or down of an expert. */
  readonly columnOrder?: (expert: number, matrix: number) => Uint32Array | undefined;
  readonly op?: Partial<MoeMlpOp>;
  /** Router logit of a row for an expert; a normal number by default. */
  readonly logit?: (row: number, expert: number) => number;
}

/** Row t of the input is x and the router logits, side by side. */
function moeSpec({ hidden, expertWidth, numExperts, chosen, rows, dtypes, columnOrder, op, logit }: Shape): OpProgram {
  const random = seededRandom(hidden + expertWidth + numExperts + rows);
  const shapes = [
    [expertWidth, hidden],
    [expertWidth, hidden],
    [hidden, expertWidth],
  ] as const;
  const weights = Array.from({ length: numExperts }, (_, expert) =>
    shapes.map((shape, i): TestWeight => {
      const dtype = dtypes?.[i] ?? 'f32';
      const order = columnOrder?.(expert, i);
      const common = { role: 'matrix', shape, dtype, ...(order && { columnOrder: order }) } as const;
      const size = shape[0] * shape[1];
      if (isBlockDtype(dtype)) return { ...common, bytes: randomBlocks(dtype, size, 3 * expert + i) };
      return { ...common, values: randomFloats(random, size, 1 / Math.sqrt(shape[1])) };
    }),
  ).flat();
  const ids = Array.from({ length: numExperts }, (_, e) => 3 * e);
  const inputWidth = hidden + numExperts;
  const input = randomFloats(random, rows * inputWidth);
  for (let t = 0; t < rows && logit; t++) {
    for (let e = 0; e < numExperts; e++) input[t * inputWidth + hidden + e] = logit(t, e);
  }
  return {
    input,
    inputWidth,
    buffers: [hidden],
    weights,
    ops: [
      {
        kind: 'moe-mlp',
        name: 'moe',
        x: view(0, 0, hidden),
        routerLogits: view(0, hidden, numExperts),
        gates: ids,
        ups: ids.map((id) => id + 1),
        downs: ids.map((id) => id + 2),
        numExpertsPerToken: chosen,
        normalizeWeights: true,
        activation: 'silu',
        out: view(1, 0, hidden),
        ...op,
      },
    ],
  };
}

function isBlockDtype(dtype: WeightDtype): dtype is BlockDtype {
  return (blockDtypes as readonly WeightDtype[]).includes(dtype);
}

const orderedTypes = ['int4_g32', 'q8_0', 'q4_0'] as const;

/** A permutation of columns. */
function shuffled(columns: number, step: number): Uint32Array {
  return Uint32Array.from({ length: columns }, (_, i) => (i * step + 3) % columns);
}

describe('moe-mlp', () => {
  it.each([
    // hidden, expertWidth, numExperts, chosen
    [1, 1, 1, 1],
    [2, 3, 2, 1],
    [7, 8, 3, 2],
    [15, 17, 9, 8],
    [16, 1, 17, 3],
    [33, 31, 8, 8],
    [129, 127, 5, 2],
  ])(
    '%i and %i wide, plain weights, %i experts, %i of them chosen',
    async (hidden, expertWidth, numExperts, chosen) => {
      for (const rows of [1, 2, 3, 17]) {
        for (const [i, dtypes] of [undefined, ['f16', 'bf16', 'f32'] as const].entries()) {
          const op = { activation: i === 0 ? 'silu' : 'gelu-tanh', normalizeWeights: i === 0 } as const;
          await expectSame(moeSpec({ hidden, expertWidth, numExperts, chosen, rows, op, ...(dtypes && { dtypes }) }));
        }
      }
    },
  );

  it.each([
    ['q8_0', 'q8_0', 'q8_0'],
    ['q4_0', 'q4_1', 'q8_0'],
    ['f16', 'q4_0', 'f32'],
    ['q4_1', 'f32', 'q4_0'],
  ] as const)('%s gates, %s ups and %s downs', async (...dtypes) => {
    for (const rows of [1, 3, 17, 130]) {
      await expectSame(moeSpec({ hidden: 64, expertWidth: 96, numExperts: 6, chosen: 2, rows, dtypes }));
    }
  });

  it.each([
    ['q4_k', 'q6_k', 'q3_k'],
    ['iq4_xs', 'q5_k', 'f8_e4m3'],
    ['f8_e4m3', 'int4_g128', 'q8_0'],
  ] as const)('%s gates, %s ups and %s downs', async (...dtypes) => {
    for (const rows of [1, 9]) {
      await expectSame(moeSpec({ hidden: 256, expertWidth: 256, numExperts: 3, chosen: 2, rows, dtypes }));
    }
  });

  it.each([
    ['gates and ups', (_: number, matrix: number) => (matrix < 2 ? shuffled(64, 11) : undefined)],
    ['ups only', (_: number, matrix: number) => (matrix === 1 ? shuffled(64, 11) : undefined)],
    ['every matrix of every second expert', (e: number, m: number) => (e % 2 ? shuffled(64, 2 * m + 5) : undefined)],
  ])('columns of %s in an order of their own', async (_, columnOrder) => {
    const shape = { hidden: 64, expertWidth: 64, numExperts: 4, chosen: 2, columnOrder } as const;
    for (const rows of [1, 17]) {
      const plain = await expectSame(moeSpec({ ...shape, columnOrder: () => undefined, rows, dtypes: orderedTypes }));
      const ordered = await expectSame(moeSpec({ ...shape, rows, dtypes: orderedTypes }));
      expect(firstDifference(ordered, plain)).not.toBeNull();
    }
  });

  it.each([
    ['all rows to one expert', (_: number, e: number) => (e === 4 ? 5 : -e), 1],
    ['ties everywhere', () => 0.25, 3],
    ['ties at the border, of zeros of both signs', (t: number, e: number) => (e === t % 6 ? 1 : e % 2 ? 0 : -0), 3],
    ['each row to an expert of its own', (t: number, e: number) => (e === t % 6 ? 9 : 0), 1],
    ['only the first and the last expert', (_: number, e: number) => (e === 0 || e === 5 ? 1 : 0), 2],
    ['weights that vanish', (_: number, e: number) => -300 * e, 2],
    ['logits far below 0', (t: number, e: number) => -1000 - ((t + e) % 6), 2],
    ['every expert', (t: number, e: number) => Math.sin(t * 7 + e), 6],
  ])('%s', async (_, logit, chosen) => {
    for (const rows of [1, 7, 70]) {
      for (const normalizeWeights of [true, false]) {
        const shape = { hidden: 32, expertWidth: 32, numExperts: 6, chosen, rows, logit, op: { normalizeWeights } };
        await expectSame(moeSpec({ ...shape, dtypes: ['q8_0', 'q8_0', 'f32'] }));
      }
    }
  });
});

describe.each(supportedVariants)('moe-mlp (%s)', (variant) => {
  const spec = moeSpec({
    hidden: 64,
    expertWidth: 32,
    numExperts: 7,
    chosen: 3,
    rows: 90,
    dtypes: ['q4_0', 'q4_0', 'q8_0'],
  });
  const positions = Array.from({ length: 90 }, (_, t) => t);

  /** The rows in chunks of so many. Tokens name rows of the input, so any order of them can be asked for. */
  async function inChunks(backend: Backend, order: readonly number[], chunk: number): Promise<Float32Array> {
    const { executable, dispose } = await compileOps(backend, spec);
    const result = new Float32Array(90 * 64);
    for (let start = 0; start < order.length; start += chunk) {
      const tokenIds = order.slice(start, start + chunk);
      const batch = makeBatch([{ tokenIds, start: 0, blocks: [0, 1, 2, 3, 4, 5], outputs: [0] }]);
      const rows = (await executable.step(batch)).captures!.get('result')!;
      for (const [i, row] of tokenIds.entries()) result.set(rows.subarray(i * 64, (i + 1) * 64), row * 64);
    }
    await dispose();
    return result;
  }

  let whole: Float32Array;
  beforeAll(async () => {
    whole = await inChunks(await cpuBackend({ variant, numThreads: 2 }), positions, 90);
  });

  it.each([1, 4, 33, 64])('gives the same rows in chunks of %i', async (chunk) => {
    const backend = await cpuBackend({ variant, numThreads: 2 });
    expect(firstDifference(await inChunks(backend, positions, chunk), whole)).toBeNull();
  });

  it('gives the same rows among others, in another order', async () => {
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const shuffled = positions.map((t) => (t * 37 + 11) % 90);
    expect(firstDifference(await inChunks(backend, shuffled, 50), whole)).toBeNull();
  });

  it.each([1, 3])('gives the same rows on %i threads', async (numThreads) => {
    const backend = await cpuBackend({ variant, numThreads });
    expect(firstDifference(await inChunks(backend, positions, 90), whole)).toBeNull();
  });
});
