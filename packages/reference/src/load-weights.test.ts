import {
  AbortError,
  decodeElements,
  InvalidModelError,
  MemoryFile,
  type WeightDtype,
  type WeightSource,
  type WeightSpec,
  weightDtypes,
} from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { tightRows } from './__fixtures__/rows.ts';
import { weightSource } from './__fixtures__/weight-source.ts';
import { loadWeights } from './load-weights.ts';
import type { DenseMatrix, QuantizedMatrix } from './matrix.ts';
import { embed } from './ops/embed.ts';

const matrixSpec = (rows: number, columns: number): WeightSpec => ({
  name: 'w',
  role: 'matrix',
  shape: [rows, columns],
});
const vectorSpec = (length: number): WeightSpec => ({ name: 'w', role: 'vector', shape: [length] });

async function load(spec: WeightSpec, source: WeightSource) {
  return loadWeights([spec], new Map([[spec.name, source]]));
}

const good = weightSource('w', [2, 32], new Float32Array(64), 'q8_0');

describe('loadWeights', () => {
  it('reads plain matrices and vectors at any offset', async () => {
    const values = randomFloats(seededRandom(1), 12);
    const { file, ...source } = weightSource('w', [3, 4], values);
    const bytes = await file.read(0, 48);
    const shifted = new Uint8Array(53);
    shifted.set(bytes, 5);
    const loaded = await load(matrixSpec(3, 4), { ...source, file: new MemoryFile(shifted), offset: 5 });
    expect((loaded.matrices.get('w') as DenseMatrix).values).toEqual(values);
    expect(loaded.sourceBytes).toBe(48);
    const vector = await load(vectorSpec(12), weightSource('w', [12], values));
    expect(vector.vectors.get('w')).toEqual(values);
  });

  it.each(Object.keys(weightDtypes) as WeightDtype[])('reads %s, rows in the given order', async (dtype) => {
    const columns = 512;
    const rowOrder = Uint32Array.of(3, 0, 4, 1, 2);
    const source = weightSource('w', [5, columns], randomFloats(seededRandom(2), 5 * columns), dtype);
    const values = decodeElements(dtype, await source.file.read(0, source.byteLength));
    const { matrices } = await load(matrixSpec(5, columns), { ...source, rowOrder });
    // The row of an embedding table is the value of its weights, whatever the type.
    const out = tightRows(new Float32Array(5 * columns), columns);
    embed(matrices.get('w')!, Int32Array.of(0, 1, 2, 3, 4), out);
    for (const [i, row] of rowOrder.entries()) {
      const expected = values.subarray(row * columns, (row + 1) * columns);
      expect(out.data.subarray(i * columns, (i + 1) * columns)).toEqual(expected);
    }
    const vector = await load(vectorSpec(5 * columns), { ...source, shape: [5 * columns] });
    expect(vector.vectors.get('w')).toEqual(values);
  });

  it('keeps a column order of a quantized matrix', async () => {
    const columnOrder = Uint32Array.from({ length: 32 }, (_, i) => 31 - i);
    const { matrices } = await load(matrixSpec(2, 32), { ...good, columnOrder });
    expect((matrices.get('w') as QuantizedMatrix).columnOrder).toEqual(columnOrder);
    const plain = await load(matrixSpec(2, 32), good);
    expect((plain.matrices.get('w') as QuantizedMatrix).columnOrder).toBeNull();
  });

  it.each([
    ['f8_e4m3', 50, 0xff, /w: an e4m3 weight is NaN/],
    ['int4_g32', 22, 17, /w: a group has the zero point 17/],
  ] as const)('refuses blocks that mean nothing (%s, byte %i)', async (dtype, at, byte, message) => {
    const source = weightSource('w', [2, 32], new Float32Array(64), dtype);
    const bytes = await source.file.read(0, source.byteLength);
    bytes[at] = byte;
    const damaged = { ...source, file: new MemoryFile(bytes) };
    await expect(load(matrixSpec(2, 32), damaged)).rejects.toThrow(InvalidModelError);
    await expect(load(matrixSpec(2, 32), damaged)).rejects.toThrow(message);
  });

  it('orders vectors too: the biases of permuted rows', async () => {
    const source = weightSource('w', [3], Float32Array.of(10, 20, 30));
    const { vectors } = await load(vectorSpec(3), { ...source, rowOrder: Uint32Array.of(2, 0, 1) });
    expect(vectors.get('w')).toEqual(Float32Array.of(30, 10, 20));
  });

  it('reads matrices larger than a chunk', async () => {
    const values = Float32Array.from({ length: 1100 * 1024 }, (_, i) => i % 65537);
    const { matrices } = await load(matrixSpec(1100, 1024), weightSource('w', [1100, 1024], values));
    const got = (matrices.get('w') as DenseMatrix).values;
    expect(got.length).toBe(values.length);
    expect(got.every((value, i) => value === values[i])).toBe(true);
  });

  it('reports its progress up to the end', async () => {
    const specs: WeightSpec[] = [
      { name: 'a', role: 'matrix', shape: [4, 4] },
      { name: 'b', role: 'vector', shape: [4] },
    ];
    const sources = new Map(
      specs.map(({ name, shape }) => [name, weightSource(name, shape, new Float32Array(shape.length === 2 ? 16 : 4))]),
    );
    const seen: number[] = [];
    await loadWeights(specs, sources, {
      onProgress: ({ doneBytes, totalBytes }) => {
        expect(totalBytes).toBe(80);
        seen.push(doneBytes);
      },
    });
    expect(seen).toEqual([64, 80]);
  });

  it('stops when its signal fires', async () => {
    const source = weightSource('w', [2, 2], new Float32Array(4));
    const controller = new AbortController();
    const loading = loadWeights([matrixSpec(2, 2)], new Map([['w', source]]), {
      signal: controller.signal,
      onProgress: () => controller.abort(),
    });
    await expect(loading).rejects.toThrow(AbortError);
  });

  it.each<[string, WeightSpec, WeightSource | undefined, RegExp]>([
    ['a missing weight', matrixSpec(2, 32), undefined, /w: the model needs this matrix of \[2,32\]/],
    ['another shape', matrixSpec(3, 32), good, /it is \[2,32\], the model needs \[3,32\]/],
    ['an unknown type', matrixSpec(2, 32), { ...good, dtype: 'q9_k' as 'q8_0' }, /type q9_k is not one of/],
    ['other bytes than the shape takes', matrixSpec(2, 32), { ...good, byteLength: 67 }, /takes 68 bytes.*67/],
    ['rows of half a block', matrixSpec(4, 16), { ...good, shape: [4, 16] }, /rows of 16 elements cannot be q8_0/],
    ['a vector with two sizes', { ...matrixSpec(2, 32), role: 'vector' }, good, /a vector cannot have the shape/],
    ['a row order that is short', matrixSpec(2, 32), { ...good, rowOrder: Uint32Array.of(0) }, /row order must name/],
    ['a row twice', matrixSpec(2, 32), { ...good, rowOrder: Uint32Array.of(1, 1) }, /each of 2 rows once/],
    ['a row past the end', matrixSpec(2, 32), { ...good, rowOrder: Uint32Array.of(0, 2) }, /past 1/],
    [
      'a column order that is short',
      matrixSpec(2, 32),
      { ...good, columnOrder: Uint32Array.of(0) },
      /column order must/,
    ],
    ['a column twice', matrixSpec(2, 32), { ...good, columnOrder: new Uint32Array(32) }, /each of 32 columns once/],
    [
      'a column past the end',
      matrixSpec(2, 32),
      { ...good, columnOrder: Uint32Array.from({ length: 32 }, (_, i) => i + 1) },
      /column order names a column past 31/,
    ],
    [
      'a column order of plain weights',
      matrixSpec(1, 2),
      { ...weightSource('w', [1, 2], new Float32Array(2)), columnOrder: Uint32Array.of(1, 0) },
      /only quantized matrices can have a column order/,
    ],
    ['bytes past the end of the file', matrixSpec(2, 32), { ...good, offset: 1 }, /cut short or damaged/],
  ])('refuses %s', async (_, spec, source, message) => {
    const loading = loadWeights([spec], new Map(source ? [['w', source]] : []));
    await expect(loading).rejects.toThrow(InvalidModelError);
    await expect(loading).rejects.toThrow(message);
  });
});
