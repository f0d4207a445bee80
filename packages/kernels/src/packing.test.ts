import {
  InvalidModelError,
  MemoryFile,
  packedByteLength,
  packMatrix,
  type WeightDtype,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { seededRandom } from './__fixtures__/random.ts';
import { type BlockDtype, randomBlocks } from './__fixtures__/random-blocks.ts';
import { fileSource } from './__fixtures__/weight-source.ts';
import { dtypeNumbers } from './addon-types.ts';
import { loadAddon } from './load-addon.ts';
import { loadWeights } from './load-weights.ts';

const dtypes = Object.keys(dtypeNumbers) as WeightDtype[];

/** Any bits that the type has a meaning for. */
function randomWeights(dtype: WeightDtype, numElements: number, seed: number): Uint8Array {
  if (weightDtypes[dtype].blockElements > 1) return randomBlocks(dtype as BlockDtype, numElements, seed);
  const random = seededRandom(seed);
  return Uint8Array.from({ length: weightByteLength(dtype, numElements) }, () => Math.floor(random() * 256));
}

/** A permutation, as a row order. */
function shuffledRows(rows: number, seed: number): Uint32Array {
  const random = seededRandom(seed);
  const order = Uint32Array.from({ length: rows }, (_, i) => i);
  for (let i = rows - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

/** What the native packer makes of one matrix. */
async function packNatively(
  dtype: WeightDtype,
  rows: number,
  columns: number,
  bytes: Uint8Array,
  rowOrder?: Uint32Array,
) {
  const runtime = new (loadAddon().Runtime)('', 3);
  try {
    const native = runtime.createWeights();
    const spec = { name: 'w', role: 'matrix', shape: [rows, columns] } as const;
    const source = fileSource('w', spec.shape, dtype, new MemoryFile(bytes), rowOrder && { rowOrder });
    const { byName, packedBytes } = await loadWeights(native, [spec], new Map([['w', source]]));
    return { packed: native.readTensor(byName.get('w')!.index), packedBytes };
  } finally {
    await runtime.dispose();
  }
}

describe.each(dtypes)('packing %s', (dtype) => {
  const { blockElements } = weightDtypes[dtype];

  it.each([
    [1, 1],
    [7, 3],
    [8, 2],
    [9, 1],
    [40, 5],
    [129, 3],
  ])('%i rows of %i blocks gives the bytes of packMatrix, in order and reordered', async (rows, blocks) => {
    const columns = blocks * blockElements;
    const bytes = randomWeights(dtype, rows * columns, rows);
    for (const rowOrder of [undefined, shuffledRows(rows, rows)]) {
      const { packed, packedBytes } = await packNatively(dtype, rows, columns, bytes, rowOrder);
      expect(packed).toEqual(packMatrix(dtype, rows, columns, bytes, rowOrder));
      expect(packedBytes).toBe(packedByteLength(dtype, rows, columns));
    }
  });
});

// Slabs and threads take rows whatever is in them: one plain type, one whose blocks stay as they are, two that are rewritten.
describe.each(['f32', 'q4_1', 'q4_k', 'f8_e4m3'] as const)('packing %s', (dtype) => {
  it('takes a matrix that is larger than a slab, in parallel', async () => {
    // 5 MiB: two slabs of bytes that JavaScript reads, and several chunks per thread.
    const columns = 1024;
    const rows = Math.ceil((5 * 1024 * 1024) / weightByteLength(dtype, columns) / 8) * 8 - 3;
    const bytes = randomWeights(dtype, rows * columns, 1);
    const { packed } = await packNatively(dtype, rows, columns, bytes);
    expect(Buffer.from(packed).equals(packMatrix(dtype, rows, columns, bytes))).toBe(true);
  });
});

describe('packed size', () => {
  it('of every format is within 3% of the file, for shapes of real models', () => {
    for (const dtype of dtypes) {
      if (dtype === 'f8_e4m3') continue; // below
      for (const [rows, columns] of [
        [49152, 768],
        [576, 1536],
        [192, 768],
        [151936, 1536],
        [32003, 2048],
      ] as const) {
        const ratio = packedByteLength(dtype, rows, columns) / weightByteLength(dtype, rows * columns);
        expect(ratio, `${dtype} ${rows} x ${columns}`).toBeLessThanOrEqual(1.03);
      }
    }
  });

  it('of f8_e4m3 is that of f16 codes and a scale for each 32: no processor widens f8 by itself', () => {
    expect(packedByteLength('f8_e4m3', 576, 1536)).toBe(576 * (1536 / 32) * (4 + 32 * 2));
  });
});

describe('blocks that mean nothing', () => {
  const changed = (dtype: BlockDtype, at: number, byte: number) => {
    const bytes = randomBlocks(dtype, 9 * 128, 1);
    bytes[bytes.length - weightDtypes[dtype].blockBytes + at] = byte; // the last block
    return bytes;
  };

  it.each([
    ['int4_g32', 2, 17, /Weight w: .*zero point 17/],
    ['int4_g128', 2, 255, /Weight w: .*zero point 255/],
    ['int4_g128', 3, 1, /Weight w: .*zero point/],
    ['f8_e4m3', 35, 0x7f, /Weight w: .*NaN/],
    ['f8_e4m3', 4, 0xff, /Weight w: .*NaN/],
  ] as const)('of %s, byte %i of %i, are refused', async (dtype, at, byte, message) => {
    const packing = packNatively(dtype, 9, 128, changed(dtype, at, byte));
    await expect(packing).rejects.toThrow(InvalidModelError);
    await expect(packing).rejects.toThrow(message);
  });
});
