import { type CacheDtype, f16ToF32, f32ToF16, InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { ReferenceKvCache } from './kv-cache.ts';

const layers = [
  { numKvHeads: 2, headDim: 3, group: 0 },
  { numKvHeads: 1, headDim: 5, group: 0 },
];

function filled(dtype: CacheDtype, blockSize = 16, numBlocks = 6) {
  const cache = new ReferenceKvCache(layers, { dtype, blockSize, numBlocks });
  const random = seededRandom(1);
  for (const [layer, { numKvHeads, headDim }] of layers.entries()) {
    for (let slot = 0; slot < numBlocks * blockSize; slot++) {
      cache.write(layer, 'k', slot, randomFloats(random, numKvHeads * headDim));
      cache.write(layer, 'v', slot, randomFloats(random, numKvHeads * headDim));
    }
  }
  return cache;
}

/** What a cache gives back for vectors of `headDim` values, in plain arithmetic. */
function stored(dtype: CacheDtype, values: Float32Array, headDim: number): Float32Array {
  if (dtype === 'f32') return values;
  if (dtype === 'f16') return values.map((value) => f16ToF32(f32ToF16(value)));
  return values.map((value, i) => {
    const start = i - (i % headDim);
    const amax = Math.max(...values.subarray(start, start + headDim).map(Math.abs));
    return halfToEven(Math.fround(value * Math.fround(127 / amax))) * Math.fround(amax / 127);
  });
}

function halfToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  return rest > 0.5 || (rest === 0.5 && floor % 2 !== 0) ? floor + 1 : floor;
}

describe.each(['f32', 'f16', 'q8'] as const)('the %s cache', (dtype) => {
  it('gives the bytes of a block over all layers', () => {
    // (2 · 3 + 1 · 5) values; with q8 also 3 scales
    const bytesPerPosition = { f32: 11 * 4, f16: 11 * 2, q8: 11 + 3 * 4 }[dtype];
    expect(filled(dtype).bytesPerBlock).toBe(2 * 16 * bytesPerPosition);
  });

  it.each([16, 32, 64])(
    'reads back what was written, rounded to its type, through the block table (blocks of %i)',
    async (blockSize) => {
      const cache = new ReferenceKvCache(layers, { dtype, blockSize, numBlocks: 8 });
      const table = Int32Array.of(5, 2, 7);
      const numPositions = 2 * blockSize + 3;
      const keys = randomFloats(seededRandom(2), numPositions * 6);
      for (let p = 0; p < numPositions; p++) {
        cache.write(0, 'k', cache.slotOf(table, p), keys.subarray(p * 6, (p + 1) * 6));
      }
      const rounded = stored(dtype, keys, 3);
      const { k, v } = await cache.readLayer(0, table, numPositions);
      expect(k).toEqual(rounded);
      expect(v).toEqual(new Float32Array(numPositions * 6));
      const head = new Float32Array(numPositions * 3);
      cache.readHead(0, 'k', 1, table, 1, numPositions, head);
      for (let p = 1; p < numPositions; p++) {
        expect(head.slice(p * 3, (p + 1) * 3)).toEqual(rounded.slice(p * 6 + 3, p * 6 + 6));
      }
    },
  );

  it('saves and restores blocks', async () => {
    const cache = filled(dtype);
    const bytes = await cache.readBlocks(Int32Array.of(4, 1));
    expect(bytes).toHaveLength(2 * cache.bytesPerBlock);
    const before = [
      await cache.readLayer(0, Int32Array.of(4, 1), 32),
      await cache.readLayer(1, Int32Array.of(4, 1), 32),
    ];
    const other = new ReferenceKvCache(layers, { dtype, blockSize: 16, numBlocks: 3 });
    await other.writeBlocks(Int32Array.of(0, 2), bytes);
    const after = [
      await other.readLayer(0, Int32Array.of(0, 2), 32),
      await other.readLayer(1, Int32Array.of(0, 2), 32),
    ];
    expect(after).toEqual(before);
    expect(await other.readBlocks(Int32Array.of(0, 2))).toEqual(bytes);
  });

  it('copies and zeroes whole blocks and no other', async () => {
    const cache = filled(dtype);
    const all = Int32Array.of(0, 1, 2, 3, 4, 5);
    const size = cache.bytesPerBlock;
    const before = await cache.readBlocks(all);
    await cache.copyBlocks(Int32Array.of(0, 1), Int32Array.of(3, 5));
    await cache.zeroBlocks(Int32Array.of(2));
    const after = await cache.readBlocks(all);
    const block = (bytes: Uint8Array, index: number) => bytes.slice(index * size, (index + 1) * size);
    expect(block(after, 3)).toEqual(block(before, 0));
    expect(block(after, 5)).toEqual(block(before, 1));
    expect(block(after, 2)).toEqual(new Uint8Array(size));
    for (const untouched of [0, 1, 4]) expect(block(after, untouched)).toEqual(block(before, untouched));
  });

  it('refuses blocks, layers and sizes that are not there', async () => {
    const cache = filled(dtype);
    const wrong = [
      cache.zeroBlocks(Int32Array.of(6)),
      cache.zeroBlocks(Int32Array.of(-1)),
      cache.readBlocks(Int32Array.of(6)),
      cache.copyBlocks(Int32Array.of(0), Int32Array.of(6)),
      cache.copyBlocks(Int32Array.of(0, 1), Int32Array.of(2)),
      cache.writeBlocks(Int32Array.of(0), new Uint8Array(cache.bytesPerBlock - 1)),
      cache.readLayer(2, Int32Array.of(0), 1),
      cache.readLayer(0, Int32Array.of(0), 17),
      cache.readLayer(0, Int32Array.of(9), 1),
      cache.readLayer(0, Int32Array.of(0), -1),
    ];
    for (const call of wrong) await expect(call).rejects.toThrow(InvalidArgumentError);
  });
});

describe('what an f16 cache cannot hold', () => {
  it.each([
    [65519, null],
    [65520, 2],
    [-70000, 2],
    [Number.NaN, 2],
    [Number.POSITIVE_INFINITY, 2],
  ])('%f: misfit at %j', (value, misfit) => {
    const cache = new ReferenceKvCache(layers, { dtype: 'f16', blockSize: 16, numBlocks: 1 });
    expect(cache.write(0, 'v', 3, Float32Array.of(1, 2, value, 4, 5, 6))).toBe(misfit);
  });
});

describe('a q8 cache', () => {
  /** What head 1 of layer 0 gives back for three values; head 0 is far larger, and of no influence. */
  function roundTrip(...values: number[]): number[] {
    const cache = new ReferenceKvCache(layers, { dtype: 'q8', blockSize: 16, numBlocks: 1 });
    expect(cache.write(0, 'k', 5, Float32Array.of(1e6, -1e6, 1e6, ...values))).toBeNull();
    const head = new Float32Array(6 * 3);
    cache.readHead(0, 'k', 1, Int32Array.of(0), 5, 6, head);
    return [...head.subarray(15)];
  }

  it('rounds codes half to even, and gives the largest magnitude the code 127', () => {
    expect(roundTrip(127, 0.5, 1.5)).toEqual([127, 0, 2]);
    expect(roundTrip(-127, -2.5, 3.49)).toEqual([-127, -2, 3]);
    expect(roundTrip(-2, 2, 1)).toEqual([-2, 2, 64 * Math.fround(2 / 127)].map(Math.fround));
  });

  it('makes vectors zero that are too small for a scale', () => {
    expect(roundTrip(2 ** -120, 0, 0)[0]).toBeCloseTo(2 ** -120, 40);
    expect(roundTrip(2 ** -120, 0, 0)[0]).toBeGreaterThan(0);
    expect(roundTrip(0.99 * 2 ** -120, -(2 ** -121), 0)).toEqual([0, 0, 0]);
    expect(roundTrip(0, -0, 0)).toEqual([0, 0, 0]);
  });

  it.each([
    [Number.NaN, 4],
    [Number.NEGATIVE_INFINITY, 4],
    [3e38, null],
    // The largest float: its 127th part is rounded up, so 127 times it is too large.
    [3.4028234663852886e38, 4],
  ])('%f: misfit at %j', (value, misfit) => {
    const cache = new ReferenceKvCache(layers, { dtype: 'q8', blockSize: 16, numBlocks: 1 });
    expect(cache.write(0, 'v', 3, Float32Array.of(1, 2, 3, 4, value, 6))).toBe(misfit);
  });

  it('changes blocks after the step that runs, and in order', async () => {
    let endStep = () => {};
    const step = new Promise<void>((resolve) => {
      endStep = resolve;
    });
    const cache = new ReferenceKvCache(layers, { dtype: 'f32', blockSize: 16, numBlocks: 2 }, () => step);
    const ones = new Uint8Array(cache.bytesPerBlock).fill(1);
    const log: string[] = [];
    const changes = [
      cache.writeBlocks(Int32Array.of(0), ones).then(() => log.push('write')),
      cache.copyBlocks(Int32Array.of(0), Int32Array.of(1)).then(() => log.push('copy')),
      cache.zeroBlocks(Int32Array.of(0)).then(() => log.push('zero')),
    ];
    await new Promise(setImmediate);
    expect(log).toEqual([]);
    endStep();
    await Promise.all(changes);
    expect(log).toEqual(['write', 'copy', 'zero']);
    expect(await cache.readBlocks(Int32Array.of(0, 1))).toEqual(
      Uint8Array.from([...new Uint8Array(cache.bytesPerBlock), ...ones]),
    );
  });
});
