import { AbortError, InvalidModelError, type WeightSource, type WeightSpec } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { weightSource } from './__fixtures__/weight-source.ts';
import { loadWeights } from './load-weights.ts';
import type { DenseMatrix, QuantizedMatrix } from './matrix.ts';

const matrixSpec = (rows: number, columns: number): WeightSpec => ({
  name: 'w',
  role: 'matrix',
  shape: [rows, columns],
});
const vectorSpec = (length: number): WeightSpec => ({ name: 'w', role: 'vector', shape: [length] });

async function load(spec: WeightSpec, source: WeightSource) {
  return loadWeights([spec], new Map([[spec.name, source]]));
}

describe('loadWeights', () => {
  it('reads plain matrices and vectors at any offset', async () => {
    const values = randomFloats(seededRandom(1), 12);
    const { file, ...source } = weightSource('w', [3, 4], values);
    const bytes = await file.read(0, 48);
    const shifted = new Uint8Array(53);
    shifted.set(bytes, 5);
    const { MemoryFile } = await import('@hearth/core');
    const loaded = await load(matrixSpec(3, 4), { ...source, file: new MemoryFile(shifted), offset: 5 });
    expect((loaded.matrices.get('w') as DenseMatrix).values).toEqual(values);
    expect(loaded.sourceBytes).toBe(48);
    const vector = await load(vectorSpec(12), weightSource('w', [12], values));
    expect(vector.vectors.get('w')).toEqual(values);
  });

  it.each(['f32', 'bf16', 'q8_0', 'q4_0', 'q4_1'] as const)('puts rows in the given order (%s)', async (dtype) => {
    const values = randomFloats(seededRandom(2), 5 * 64);
    const rowOrder = Uint32Array.of(3, 0, 4, 1, 2);
    const source = weightSource('w', [5, 64], values, dtype);
    const plain = (await load(matrixSpec(5, 64), source)).matrices.get('w')!;
    const ordered = (await load(matrixSpec(5, 64), { ...source, rowOrder })).matrices.get('w')!;
    const rowsOf = (matrix: DenseMatrix | QuantizedMatrix, row: number) =>
      matrix.kind === 'dense'
        ? [matrix.values.slice(row * 64, (row + 1) * 64)]
        : [
            matrix.codes.slice(row * 64, (row + 1) * 64),
            matrix.scales.slice(row * 2, (row + 1) * 2),
            matrix.mins?.slice(row * 2, (row + 1) * 2),
          ];
    for (const [i, row] of rowOrder.entries()) expect(rowsOf(ordered, i)).toEqual(rowsOf(plain, row));
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

  const good = weightSource('w', [2, 32], new Float32Array(64), 'q8_0');
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
    ['bytes past the end of the file', matrixSpec(2, 32), { ...good, offset: 1 }, /cut short or damaged/],
  ])('refuses %s', async (_, spec, source, message) => {
    const loading = loadWeights([spec], new Map(source ? [['w', source]] : []));
    await expect(loading).rejects.toThrow(InvalidModelError);
    await expect(loading).rejects.toThrow(message);
  });
});
