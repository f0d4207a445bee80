import {
  MemoryFile,
  packedByteLength,
  packMatrix,
  type WeightDtype,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { seededRandom } from './__fixtures__/random.ts';
import { fileSource } from './__fixtures__/weight-source.ts';
import { dtypeNumbers } from './addon-types.ts';
import { loadAddon } from './load-addon.ts';
import { loadWeights } from './load-weights.ts';

const dtypes = Object.keys(dtypeNumbers) as WeightDtype[];

function randomBytes(length: number, seed: number): Uint8Array {
  const random = seededRandom(seed);
  return Uint8Array.from({ length }, () => Math.floor(random() * 256));
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
    const bytes = randomBytes(weightByteLength(dtype, rows * columns), rows);
    for (const rowOrder of [undefined, shuffledRows(rows, rows)]) {
      const { packed, packedBytes } = await packNatively(dtype, rows, columns, bytes, rowOrder);
      expect(packed).toEqual(packMatrix(dtype, rows, columns, bytes, rowOrder));
      expect(packedBytes).toBe(packedByteLength(dtype, rows, columns));
    }
  });

  it('takes a matrix that is larger than a slab, in parallel', async () => {
    // 5 MiB: two slabs of bytes that JavaScript reads, and several chunks per thread.
    const columns = 1024;
    const rows = Math.ceil((5 * 1024 * 1024) / weightByteLength(dtype, columns) / 8) * 8 - 3;
    const bytes = new Uint8Array(weightByteLength(dtype, rows * columns));
    for (let i = 0; i < bytes.length; i++) bytes[i] = (i * 2654435761) >>> 13;
    const { packed } = await packNatively(dtype, rows, columns, bytes);
    expect(Buffer.from(packed).equals(packMatrix(dtype, rows, columns, bytes))).toBe(true);
  });
});

describe('packed size', () => {
  it('of every format is within 3% of the file, for shapes of real models', () => {
    for (const dtype of dtypes) {
      for (const [rows, columns] of [
        [49152, 576],
        [576, 1536],
        [192, 576],
        [151936, 1536],
        [32003, 2048],
      ] as const) {
        const ratio = packedByteLength(dtype, rows, columns) / weightByteLength(dtype, rows * columns);
        expect(ratio, `${dtype} ${rows} x ${columns}`).toBeLessThanOrEqual(1.03);
      }
    }
  });
});
