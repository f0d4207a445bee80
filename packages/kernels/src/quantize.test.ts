import {
  DisposedError,
  InvalidArgumentError,
  type Quantizer,
  quantizableDtypes,
  quantizeBlocks,
  weightDtypes,
} from '@hearth/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { cpuBackend } from './__fixtures__/backends.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { createCpuBackend } from './cpu-backend.ts';

/** A row of one super-block, or eight blocks of 32. */
const rowLength = 256;

const gaussian = (random: () => number) => randomFloats(random, 1)[0]!;

/** Kinds of rows that take other paths through the searches; each is drawn anew for every row. */
const kinds: Readonly<Record<string, (random: () => number) => (i: number) => number>> = {
  normal: (random) => () => gaussian(random),
  uniform: (random) => () => random() - 0.5,
  'heavy tails': (random) => () => gaussian(random) ** 5,
  'constant, of either sign': (random) => {
    const value = random() - 0.5;
    return () => value;
  },
  zeros: () => (i) => (i % 2 === 0 ? 0 : -0),
  positive: (random) => () => Math.abs(gaussian(random)),
  'negative, and far from zero': (random) => () => -3 - random(),
  'one value and zeros': (random) => {
    const at = Math.floor(random() * rowLength);
    return (i) => (i === at ? gaussian(random) : 0);
  },
  outliers: (random) => () => gaussian(random) * (random() < 0.02 ? 100 : 1),
  // Halves between codes, so that ties are rounded.
  'on a grid of halves': (random) => () => 0.5 * Math.round(16 * (random() - 0.5)),
  'sub-blocks of very different size': (random) => (i) => gaussian(random) * 10 ** -(i >> 4),
  'scales below what f16 has': (random) => () => gaussian(random) * 2 ** -26,
  'around what counts as zero': (random) => () => gaussian(random) * 1e-15,
  'subnormal floats': (random) => () => gaussian(random) * 2 ** -140,
  'scales near the end of f16': (random) => () => (random() - 0.5) * 130_000,
};

function rows(kind: string, numRows: number, seed: number): Float32Array {
  const random = seededRandom(seed);
  const values = new Float32Array(numRows * rowLength);
  for (let row = 0; row < numRows; row++) {
    const next = kinds[kind]!(random);
    for (let i = 0; i < rowLength; i++) values[row * rowLength + i] = next(i);
  }
  return values;
}

let quantizer: Quantizer;
beforeAll(async () => {
  quantizer = (await cpuBackend({ numThreads: 3 })).quantizer!;
});

describe.each(quantizableDtypes)('%s', (dtype) => {
  it.each(Object.keys(kinds))('gives the bytes of the oracle: %s', async (kind) => {
    const values = rows(kind, 40, kind.length);
    const [bytes, expected] = [await quantizer.quantize(dtype, values), quantizeBlocks(dtype, values)];
    expect(bytes.length).toBe(expected.length);
    const { blockBytes, blockElements } = weightDtypes[dtype];
    const at = bytes.findIndex((byte, i) => byte !== expected[i]);
    const block = Math.floor(at / blockBytes);
    const context = `byte ${at % blockBytes} of block ${block}: ${values.subarray(block * blockElements, (block + 1) * blockElements)}`;
    expect(at, context).toBe(-1);
  });

  it('takes no value, one block, and many pieces of work', async () => {
    const { blockElements } = weightDtypes[dtype];
    const values = rows('normal', 130, 7);
    for (const length of [0, blockElements, 4096 + blockElements, values.length]) {
      const part = values.subarray(0, length);
      expect(await quantizer.quantize(dtype, part)).toEqual(quantizeBlocks(dtype, part));
    }
    // A view that starts in the middle of its memory.
    const inside = values.subarray(blockElements, 3 * blockElements);
    expect(await quantizer.quantize(dtype, inside)).toEqual(quantizeBlocks(dtype, inside));
  });

  it('refuses what the oracle refuses, in its words, and names the first fault', async () => {
    const { blockElements } = weightDtypes[dtype];
    const values = rows('normal', 100, 3);
    values.fill(1e30, 20_000 - (20_000 % blockElements), 21_000);
    await expect(quantizer.quantize(dtype, values)).rejects.toThrow(InvalidArgumentError);
    await expect(quantizer.quantize(dtype, values)).rejects.toThrow(/which f16 cannot hold/);
    values[8192 + 5] = Number.NaN;
    await expect(quantizer.quantize(dtype, values)).rejects.toThrow(
      `The value NaN at 5 cannot be quantized to ${dtype}`,
    );
    values[1024 + 6] = Number.NEGATIVE_INFINITY;
    await expect(quantizer.quantize(dtype, values)).rejects.toThrow('The value -Infinity at 6');
    const ragged = values.subarray(0, blockElements - 1);
    await expect(quantizer.quantize(dtype, ragged)).rejects.toThrow(
      `${dtype} takes multiples of ${blockElements} values, got ${blockElements - 1}`,
    );
  });
});

describe('the quantizer of a backend', () => {
  it('works on many pieces at once, on copies of them', async () => {
    const values = rows('normal', 16, 1);
    const expected = quantizeBlocks('q4_k', values);
    const running = Array.from({ length: 5 }, () => quantizer.quantize('q4_k', values));
    for (const bytes of await Promise.all(running)) expect(bytes).toEqual(expected);
  });

  it('refuses types that are not quantized to, and work after its end', async () => {
    for (const dtype of ['f32', 'int4_g32', 'f8_e4m3']) {
      await expect(quantizer.quantize(dtype as never, new Float32Array(128))).rejects.toThrow(
        `Nothing can be quantized to ${dtype}`,
      );
    }
    const other = await createCpuBackend({ numThreads: 1 });
    await other.dispose();
    await expect(other.quantizer!.quantize('q8_0', new Float32Array(32))).rejects.toThrow(DisposedError);
  });
});
