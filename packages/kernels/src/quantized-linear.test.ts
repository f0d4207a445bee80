import { type Op, type WeightDtype, weightDtypes } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { cpuBackend, disposeAtEnd } from './__fixtures__/backends.ts';
import { awkwardFloats, expectSame, vector, view } from './__fixtures__/compare-ops.ts';
import { loadOps, type OpProgram, type TestWeight } from './__fixtures__/op-program.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { type BlockDtype, type BlockFill, blockDtypes, randomBlocks } from './__fixtures__/random-blocks.ts';

// Products with, and embeddings in, every type that comes in blocks: every variant against the reference, bit for bit.

function matrix(dtype: BlockDtype, rows: number, columns: number, fill?: BlockFill): TestWeight {
  return { role: 'matrix', shape: [rows, columns], dtype, bytes: randomBlocks(dtype, rows * columns, rows, fill) };
}

/** One matrix with a bias; x starts at a column that is no multiple of anything. */
function linearSpec(weight: TestWeight, tokens: number, input?: Float32Array): OpProgram {
  const [rows, columns] = weight.shape as [number, number];
  const bias = vector(randomFloats(seededRandom(1), rows));
  return {
    input: input ?? awkwardFloats(tokens * (columns + 1), rows + tokens),
    inputWidth: columns + 1,
    buffers: [rows],
    weights: [weight, bias],
    ops: [{ kind: 'linear', name: 'linear', x: view(0, 1, columns), weights: [0], biases: [1], out: view(1, 0, rows) }],
  };
}

describe.each(blockDtypes)('linear of %s weights', (dtype) => {
  const { blockElements } = weightDtypes[dtype];

  it.each([
    [1, 1],
    [7, 2],
    [8, 3],
    [9, 1],
    [17, 2],
    [31, 1],
    [33, 5],
    [63, 2],
    [129, 4],
  ])('%i rows of %i blocks, 1 to 65 tokens', async (rows, blocks) => {
    for (const tokens of [1, 2, 3, 4, 5, 17, 65]) {
      await expectSame(linearSpec(matrix(dtype, rows, blocks * blockElements), tokens));
    }
  });

  it('more tokens than one chunk takes', async () => {
    await expectSame(linearSpec(matrix(dtype, 40, blockElements), 131));
  });

  // Codes and scales at their ends against activations at full scale, with the signs that make the largest sums, whole and in
  // part: what 16-bit lanes must hold. A row for each combination, a token for each pattern of signs.
  it('whose codes and scales are extreme, at full scale', async () => {
    const columns = blockElements;
    const fills: BlockFill[] = [];
    for (const codes of [0x00, 0xff, 0x0f, 0xf0, 0x7f, 0x80, 0x81, 0x55]) {
      for (const scales of [0x00, 0xff, 0x7f, 0x80, 0x1f]) {
        for (const zeroPoint of [0, 8, 16]) fills.push({ codes, scales, zeroPoint });
      }
    }
    const rowBytes = randomBlocks(dtype, columns, 0).length;
    const bytes = new Uint8Array(fills.length * rowBytes);
    for (const [row, fill] of fills.entries()) bytes.set(randomBlocks(dtype, columns, row, fill), row * rowBytes);
    const weight: TestWeight = { role: 'matrix', shape: [fills.length, columns], dtype, bytes };
    const ones = (count: number, sign: number) => new Array<number>(count).fill(sign);
    const patterns = [
      [1],
      [-1],
      [1, -1],
      [1, 1, -1, -1],
      [...ones(4, 1), ...ones(4, -1)],
      [...ones(8, 1), ...ones(8, -1)],
      [...ones(16, 1), ...ones(16, -1)],
      [...ones(16, -1), ...ones(16, 1)],
    ];
    const input = new Float32Array(patterns.length * (columns + 1));
    for (const [t, signs] of patterns.entries()) {
      for (let i = 0; i < columns; i++) input[t * (columns + 1) + 1 + i] = 3 * signs[i % signs.length]!;
    }
    await expectSame(linearSpec(weight, patterns.length, input));
  });

  it('with rows of zeros and of denormals', async () => {
    const columns = blockElements === 32 ? 96 : blockElements;
    const spec = linearSpec(matrix(dtype, 17, columns), 4);
    const input = spec.input.slice();
    const row = columns + 1;
    input
      .fill(0, 0, row)
      .fill(1e-40, row, 2 * row)
      .fill(2 ** -120, 2 * row, 2 * row + 32)
      .fill(-(2 ** -125), 2 * row + 32, 3 * row);
    await expectSame({ ...spec, input });
  });

  it('merged with other types, which share the quantized activations', async () => {
    const columns = 256;
    const plain: TestWeight = {
      role: 'matrix',
      shape: [11, columns],
      values: randomFloats(seededRandom(4), 11 * columns, 0.2),
      dtype: 'f16',
    };
    await expectSame(
      mergedSpec([plain, matrix(dtype, 12, columns), matrix('q8_0', 13, columns), matrix(dtype, 3, columns)], 5),
    );
  });

  it('embeds its rows', async () => {
    const [rows, columns] = [19, 2 * blockElements];
    await expectSame({
      input: new Float32Array(rows),
      inputWidth: 1,
      buffers: [columns],
      weights: [matrix(dtype, rows, columns)],
      ops: [{ kind: 'embed', name: 'embed', ids: 'tokens', scale: 1, weight: 0, out: view(1, 0, columns) }],
    });
  });
});

/** Matrices of one x, side by side. */
function mergedSpec(weights: readonly TestWeight[], tokens: number): OpProgram {
  const columns = weights[0]!.shape[1]!;
  const width = weights.reduce((sum, { shape }) => sum + shape[0]!, 0);
  const op: Op = {
    kind: 'linear',
    name: 'merged',
    x: view(0, 0, columns),
    weights: weights.map((_, i) => i),
    biases: weights.map(() => null),
    out: view(1, 0, width),
  };
  const input = awkwardFloats(tokens * columns, tokens);
  return { input, inputWidth: columns, buffers: [width], weights, ops: [op] };
}

describe('column orders', () => {
  const columns = 1280; // more than is gathered at once

  /** A permutation. */
  function shuffled(seed: number): Uint32Array {
    const random = seededRandom(seed);
    const order = Uint32Array.from({ length: columns }, (_, i) => i);
    for (let i = columns - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  }

  const withOrder = (dtype: WeightDtype, rows: number, seed: number): TestWeight => ({
    ...matrix(dtype as BlockDtype, rows, columns),
    columnOrder: shuffled(seed),
  });

  it.each(['int4_g32', 'int4_g128', 'q4_0', 'q6_k'] as const)('of %s weights gather the activations', async (dtype) => {
    for (const tokens of [1, 3, 70]) await expectSame(linearSpec(withOrder(dtype, 17, 5), tokens));
  });

  it('differ between merged matrices, or are shared', async () => {
    const plain: TestWeight = {
      role: 'matrix',
      shape: [9, columns],
      values: randomFloats(seededRandom(4), 9 * columns, 0.2),
      dtype: 'bf16',
    };
    const parts = [
      plain,
      withOrder('int4_g128', 8, 1),
      matrix('int4_g128', 7, columns),
      withOrder('int4_g32', 5, 1),
      withOrder('int4_g128', 20, 2),
      matrix('q8_0', 6, columns),
    ];
    for (const tokens of [1, 6]) {
      await expectSame(mergedSpec(parts, tokens));
      await expectSame(mergedSpec([...parts].reverse(), tokens));
    }
  });

  it('are refused in an embedding', async () => {
    const backend = await cpuBackend();
    const { program, weights } = await loadOps(backend, {
      input: new Float32Array(3),
      inputWidth: 1,
      buffers: [columns],
      weights: [withOrder('q4_0', 3, 1)],
      ops: [{ kind: 'embed', name: 'embed', ids: 'tokens', scale: 1, weight: 0, out: view(1, 0, columns) }],
    });
    disposeAtEnd(weights);
    const cache = { dtype: 'f32', blockSize: 16, numBlocks: 1 } as const;
    const compiling = backend.compile(program, weights, { maxTokens: 3, maxOutputRows: 1, cache });
    await expect(compiling).rejects.toThrow(/weight 0 has a column order/);
  });
});
