import { type Backend, NumericError } from '@hearth/core';
import { createReferenceBackend } from '@hearth/reference';
import { describe, expect, it } from 'vitest';
import { cpuBackend, supportedVariants } from './__fixtures__/backends.ts';
import { makeBatch } from './__fixtures__/batches.ts';
import { firstDifference } from './__fixtures__/bits.ts';
import { view } from './__fixtures__/compare-ops.ts';
import { compileOps } from './__fixtures__/op-program.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';

const headDim = 19;

/** Stores each row of `input`, a key and a value of one head, in a q8 cache; what it then holds. */
async function stored(backend: Backend, input: Float32Array) {
  const { executable, dispose } = await compileOps(backend, {
    input,
    inputWidth: 2 * headDim,
    cacheDtype: 'q8',
    frame: { cacheLayers: [{ numKvHeads: 1, headDim, group: 0 }] },
    ops: [{ kind: 'write-cache', name: 'cache', layer: 0, k: view(0, 0, headDim), v: view(0, headDim, headDim) }],
  });
  try {
    const rows = input.length / (2 * headDim);
    const blocks = Array.from({ length: executable.cache.numBlocks }, (_, i) => i);
    const tokenIds = Array.from({ length: rows }, (_, t) => t);
    await executable.step(makeBatch([{ tokenIds, start: 0, blocks, outputs: [0] }]));
    return await executable.cache.readLayer(0, Int32Array.from(blocks), rows);
  } finally {
    await dispose();
  }
}

describe.each(supportedVariants)('a q8 cache (%s)', (variant) => {
  it('holds what the reference holds, vector by vector', async () => {
    const scales = [0, 2 ** -149, 2 ** -121, 2 ** -120, 2 ** -60, 0.1, 1, 300, 1e30, 3e38];
    const input = randomFloats(seededRandom(8), scales.length * 2 * headDim);
    // The largest is 1 in each vector, so that the last scales stay in range and the halves below are halves.
    for (const [row, scale] of scales.entries()) {
      for (let i = 0; i < 2 * headDim; i++) {
        const at = row * 2 * headDim + i;
        input[at] = i % headDim === 4 ? -scale : (input[at]! % 1) * scale;
      }
    }
    // Codes that lie halfway between two integers: 2.5 and 3.5 of 127.
    input.fill(127, 6 * 2 * headDim, 6 * 2 * headDim + 1);
    input.set([2.5, 3.5, -2.5, -3.5], 6 * 2 * headDim + 9);
    const mine = await stored(await cpuBackend({ variant, numThreads: 2 }), input);
    const theirs = await stored(createReferenceBackend(), input);
    expect(firstDifference(mine.k, theirs.k)).toBeNull();
    expect(firstDifference(mine.v, theirs.v)).toBeNull();
    expect([...mine.k.subarray(6 * headDim + 9, 6 * headDim + 13)]).toEqual([2, 4, -2, -4]);
  });

  it.each([
    ['a key', 3],
    ['a value', headDim + 18],
  ])('refuses %s that is not finite, or not once it is read back', async (_, column) => {
    const backend = await cpuBackend({ variant, numThreads: 2 });
    const largest = 3.4028234663852886e38;
    // The scale of the largest float rounds up.
    for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -largest]) {
      const input = randomFloats(seededRandom(9), 3 * 2 * headDim);
      input[2 * headDim + column] = value;
      for (const each of [backend, createReferenceBackend()]) {
        const error = await stored(each, input).then(
          () => undefined,
          (reason: unknown) => reason,
        );
        expect(error).toBeInstanceOf(NumericError);
        expect((error as NumericError).op).toBe(Number.isFinite(value) ? 'cache' : 'input');
      }
    }
  });
});
