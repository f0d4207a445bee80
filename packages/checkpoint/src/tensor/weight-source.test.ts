import { MemoryFile, UnsupportedError, weightByteLength } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { counting } from '../__fixtures__/gguf-bytes.ts';
import type { CheckpointTensor } from '../checkpoint.ts';
import { encodeElements } from './encode.ts';
import { transposedFile } from './transposed-file.ts';
import { weightSource } from './weight-source.ts';

function tensorOf(bytes: Uint8Array, fields: Partial<CheckpointTensor>): CheckpointTensor {
  const file = new MemoryFile(bytes, 'weights.bin');
  return { name: 'w', storedName: 'w', dtype: 'f32', shape: [], offset: 0, byteLength: bytes.length, ...fields, file };
}

async function floatsOf(source: ReturnType<typeof weightSource>): Promise<number[]> {
  const bytes = await source.file.read(source.offset, source.byteLength);
  return [...new Float32Array(bytes.slice().buffer)];
}

describe('weightSource', () => {
  it('hands on where the bytes are', () => {
    const orders = { rowOrder: Uint32Array.of(0, 2, 1, 3), columnOrder: Uint32Array.of(1, 0) };
    const tensor = tensorOf(counting(8), { shape: [4, 2], ...orders });
    const { name, dtype, shape, file, offset, byteLength } = tensor;
    const plain = { name, dtype, shape, file, offset, byteLength };
    expect(weightSource(tensor, {})).toEqual({ ...plain, ...orders });
    expect(Object.keys(weightSource({ ...plain, storedName: 'w' }, {}))).not.toContain('rowOrder');
  });

  it('hands on the bytes of a matrix that file and model keep the same way round, also of a quantized one', () => {
    const bytes = new Uint8Array(weightByteLength('q4_0', 96 * 64));
    const tensor = tensorOf(bytes, { dtype: 'q4_0', shape: [64, 96], transposed: true });
    expect(weightSource(tensor, { transposed: true })).toMatchObject({
      shape: [96, 64],
      file: tensor.file,
      dtype: 'q4_0',
    });
  });

  it('hands on the bytes of a vector that file and model add the same to', () => {
    const tensor = tensorOf(counting(4), { shape: [4], plus: 1 });
    expect(weightSource(tensor, { plus: 1 })).toMatchObject({ file: tensor.file, dtype: 'f32' });
  });

  it('adds and takes off, each rounded to f32', async () => {
    const values = Float32Array.of(0.1, -1, 2 ** 24);
    const plain = tensorOf(encodeElements('f32', values), { shape: [3] });
    expect(await floatsOf(weightSource(plain, { plus: 1 }))).toEqual(
      [...values].map((value) => Math.fround(value + 1)),
    );
    expect(await floatsOf(weightSource({ ...plain, plus: 1 }, {}))).toEqual(
      [...values].map((value) => Math.fround(value - 1)),
    );
    const half = tensorOf(encodeElements('bf16', Float32Array.of(0.5, -2)), { shape: [2], dtype: 'bf16' });
    const source = weightSource(half, { plus: 1 });
    expect(source).toMatchObject({ dtype: 'f32', byteLength: 8, offset: 0 });
    expect(await floatsOf(source)).toEqual([1.5, -1]);
    expect([...new Float32Array((await source.file.read(4, 4)).slice().buffer)]).toEqual([-1]);
  });

  it('turns a matrix of plain floats round, keeping its type and every bit', async () => {
    const [rows, columns] = [5, 3];
    for (const dtype of ['f32', 'f16', 'bf16'] as const) {
      const stored = encodeElements(
        dtype,
        Float32Array.from({ length: rows * columns }, (_, i) => i),
      );
      const bytes = new Uint8Array(stored.length + 8);
      bytes.set(stored, 8);
      const tensor = tensorOf(bytes, { dtype, shape: [rows, columns], offset: 8, byteLength: stored.length });
      const source = weightSource(tensor, { transposed: true });
      expect(source).toMatchObject({ dtype, shape: [columns, rows], byteLength: stored.length });
      const turned = Float32Array.from(
        { length: rows * columns },
        (_, i) => (i % rows) * columns + Math.floor(i / rows),
      );
      expect(await source.file.read(0, stored.length)).toEqual(encodeElements(dtype, turned));
      // The other way round: the file is transposed, the model takes the matrix as Hugging Face keeps it.
      const back = weightSource({ ...tensor, shape: [columns, rows], transposed: true }, {});
      expect(back.shape).toEqual([columns, rows]);
      expect(await back.file.read(0, stored.length)).toEqual(encodeElements(dtype, turned));
    }
  });

  it('refuses by name what cannot be turned round', () => {
    const bytes = new Uint8Array(weightByteLength('q8_0', 64 * 32));
    const quantized = tensorOf(bytes, { dtype: 'q8_0', shape: [64, 32] });
    expect(() => weightSource(quantized, { transposed: true })).toThrow(UnsupportedError);
    expect(() => weightSource(quantized, { transposed: true })).toThrow(
      /"w" has the type q8_0, whose blocks cannot be/,
    );
    expect(() => weightSource(tensorOf(counting(4), { shape: [4] }), { transposed: true })).toThrow(
      /no matrix in order/,
    );
    const permuted = tensorOf(counting(4), { shape: [2, 2], rowOrder: Uint32Array.of(1, 0) });
    expect(() => weightSource(permuted, { transposed: true })).toThrow(/no matrix in order/);
    expect(() => weightSource(tensorOf(counting(4), { shape: [2, 2] }), { transposed: true, plus: 1 })).toThrow(
      /at once/,
    );
  });

  it('refuses types by name, whatever the name is', () => {
    for (const dtype of ['iq2_xs', 'i32', 'toString', '__proto__']) {
      const tensor = tensorOf(new Uint8Array(4), { dtype, shape: [1] });
      expect(() => weightSource(tensor, {})).toThrow(`weights.bin: tensor "w" has the type ${dtype}`);
    }
  });
});

describe('transposedFile', () => {
  it('gives any range from any slab, and reads the file once a slab', async () => {
    const [rows, columns] = [7, 11];
    const tensor = tensorOf(counting(rows * columns), { shape: [rows, columns] });
    let numReads = 0;
    const read = tensor.file.read.bind(tensor.file);
    tensor.file.read = (offset, length) => {
      numReads++;
      return read(offset, length);
    };
    // Slabs of three rows: 3, 3, 3 and 2.
    const file = transposedFile(tensor, [rows, columns], 4, 3 * rows * 4);
    const whole = new Float32Array((await file.read(0, file.size)).slice().buffer);
    expect([...whole]).toEqual(Array.from(whole, (_, i) => (i % rows) * columns + Math.floor(i / rows)));
    expect(numReads).toBe(4);
    for (const [offset, length] of [
      [0, 4],
      [80, 12],
      [100, 200],
      [304, 4],
      [8, 0],
    ] as const) {
      const part = new Float32Array((await file.read(offset, length)).slice().buffer);
      expect([...part]).toEqual([...whole.subarray(offset / 4, (offset + length) / 4)]);
    }
  });

  it('tries again after a failed read', async () => {
    const tensor = tensorOf(counting(4), { shape: [2, 2] });
    const read = tensor.file.read.bind(tensor.file);
    tensor.file.read = async () => {
      tensor.file.read = read;
      throw new Error('unplugged');
    };
    const file = transposedFile(tensor, [2, 2], 4);
    await expect(file.read(0, 16)).rejects.toThrow('unplugged');
    expect(await file.read(0, 16)).toEqual(encodeElements('f32', Float32Array.of(0, 2, 1, 3)));
  });
});
