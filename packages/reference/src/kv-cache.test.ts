import { f16ToF32, f32ToF16, InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { ReferenceKvCache } from './kv-cache.ts';

const layers = [
  { numKvHeads: 2, headDim: 3, group: 0 },
  { numKvHeads: 1, headDim: 5, group: 0 },
];

function filled(dtype: 'f32' | 'f16', blockSize = 16, numBlocks = 6) {
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

describe.each(['f32', 'f16'] as const)('the %s cache', (dtype) => {
  it('gives the bytes of a block over all layers', () => {
    // 2 · 16 positions · (2 · 3 + 1 · 5) values
    expect(filled(dtype).bytesPerBlock).toBe(2 * 16 * 11 * (dtype === 'f32' ? 4 : 2));
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
      const rounded = dtype === 'f32' ? keys : keys.map((value) => f16ToF32(f32ToF16(value)));
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
