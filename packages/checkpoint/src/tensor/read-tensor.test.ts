import {
  AbortError,
  decodeElements,
  MemoryFile,
  UnsupportedError,
  type WeightDtype,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { counting } from '../__fixtures__/gguf-bytes.ts';
import type { CheckpointTensor } from '../checkpoint.ts';
import { encodeElements } from './encode.ts';
import { readTensor, readTensorChunks } from './read-tensor.ts';

/** Records how much is read at a time. */
class WatchedFile extends MemoryFile {
  readonly reads: number[] = [];

  override async read(offset: number, length: number): Promise<Uint8Array> {
    this.reads.push(length);
    return super.read(offset, length);
  }
}

function tensorOf(bytes: Uint8Array, fields: Partial<CheckpointTensor>): CheckpointTensor & { file: WatchedFile } {
  const file = new WatchedFile(bytes, 'weights.bin');
  return { name: 'w', storedName: 'w', dtype: 'f32', shape: [], offset: 0, byteLength: bytes.length, ...fields, file };
}

describe('readTensor', () => {
  it('reads a tensor of many pieces, from the middle of a file', async () => {
    const rows = 300;
    const values = Float32Array.from({ length: rows * 256 }, (_, i) => (i % 509) - 254);
    const stored = encodeElements('f16', values);
    const bytes = new Uint8Array(stored.length + 24);
    bytes.set(stored, 16);
    const tensor = tensorOf(bytes, { dtype: 'f16', shape: [rows, 256], offset: 16, byteLength: stored.length });
    const read = await readTensor(tensor);
    expect(read.length).toBe(values.length);
    expect(read.every((value, i) => value === values[i])).toBe(true);
    expect(tensor.file.reads.length).toBeGreaterThan(1);
    expect(Math.max(...tensor.file.reads)).toBeLessThanOrEqual(2 ** 16);
  });

  it('cuts quantized tensors between blocks', async () => {
    const values = Float32Array.from({ length: 32 * 5000 }, (_, i) => (i % 32) - 16);
    const tensor = tensorOf(encodeElements('q4_1', values), { dtype: 'q4_1', shape: [5000, 32] });
    let count = 0;
    for await (const chunk of readTensorChunks(tensor)) {
      expect(chunk.length % 32).toBe(0);
      count += chunk.length;
    }
    expect(count).toBe(values.length);
    expect(tensor.file.reads.every((length) => length % 20 === 0)).toBe(true);
  });

  it.each(Object.keys(weightDtypes) as WeightDtype[])('reads %s in pieces as at once', async (dtype) => {
    const columns = 1024;
    const rows = 200;
    const bytes = Uint8Array.from({ length: weightByteLength(dtype, rows * columns) }, (_, i) => (i * 37) & 0x3f);
    const tensor = tensorOf(bytes, { dtype, shape: [rows, columns] });
    const values = await readTensor(tensor);
    expect(tensor.file.reads.length).toBeGreaterThan(1);
    expect(Buffer.from(values.buffer).equals(Buffer.from(decodeElements(dtype, bytes).buffer))).toBe(true);
  });

  it('puts rows in order, also when they take several pieces', async () => {
    const [rows, columns] = [64, 512];
    const rowOrder = Uint32Array.from({ length: rows }, (_, i) => (i * 37) % rows);
    const tensor = tensorOf(counting(rows * columns), { shape: [rows, columns], rowOrder });
    const values = await readTensor(tensor);
    for (let row = 0; row < rows; row++) {
      expect(values[row * columns]).toBe(rowOrder[row]! * columns);
      expect(values[row * columns + columns - 1]).toBe(rowOrder[row]! * columns + columns - 1);
    }
  });

  it('turns a transposed matrix round, whatever its type', async () => {
    const [rows, columns] = [96, 64];
    const values = Float32Array.from({ length: rows * columns }, (_, i) => (i % 16) - 8);
    for (const dtype of ['f32', 'bf16', 'q4_0'] as const) {
      const stored = tensorOf(encodeElements(dtype, values), { dtype, shape: [rows, columns] });
      const plain = await readTensor(stored);
      const read = await readTensor({ ...stored, shape: [columns, rows], transposed: true });
      expect(read.every((value, i) => value === plain[(i % rows) * columns + Math.floor(i / rows)])).toBe(true);
    }
  });

  it('takes off what the file adds, rounding to f32 once', async () => {
    const stored = Float32Array.of(1, 1.5, 0.1, 3);
    const tensor = tensorOf(encodeElements('f32', stored), { shape: [4], plus: 1 });
    expect([...(await readTensor(tensor))]).toEqual([0, 0.5, Math.fround(Math.fround(0.1) - 1), 2]);
  });

  it('puts columns in order', async () => {
    const [rows, columns] = [3, 20_000];
    const columnOrder = Uint32Array.from({ length: columns }, (_, i) => (i * 7) % columns);
    columnOrder.sort((a, b) => (a % 11) - (b % 11) || a - b);
    const values = await readTensor(tensorOf(counting(rows * columns), { shape: [rows, columns], columnOrder }));
    for (let i = 0; i < columns; i += 37) {
      for (let row = 0; row < rows; row++) expect(values[row * columns + columnOrder[i]!]).toBe(row * columns + i);
    }
  });

  it('stops when its signal fires', async () => {
    const tensor = tensorOf(counting(8), { shape: [8] });
    await expect(readTensor(tensor, { signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
  });

  it('refuses types by name, whatever the name is', async () => {
    for (const dtype of ['iq1_s', 'iq2_xxs', 'tq1_0', 'mxfp4', 'q8_1', 'i32', 'toString', '__proto__']) {
      const tensor = tensorOf(new Uint8Array(4), { dtype, shape: [1] });
      await expect(readTensor(tensor)).rejects.toThrow(UnsupportedError);
      await expect(readTensor(tensor)).rejects.toThrow(`weights.bin: tensor "w" has the type ${dtype}`);
    }
  });

  it('takes f8_e4m3 as blocks with scales, not as the bare codes that safetensors calls by that name', async () => {
    const bytes = new Uint8Array(64 * 36).fill(0x38); // the code of 1
    const scales = new DataView(bytes.buffer);
    for (let block = 0; block < 64; block++) scales.setFloat32(36 * block, block, true);
    const values = await readTensor(tensorOf(bytes, { dtype: 'f8_e4m3', shape: [64, 32] }));
    expect([values[0], values[33], values[2047]]).toEqual([0, 1, 63]);
    const bare = tensorOf(new Uint8Array(64 * 32), { dtype: 'f8_e4m3', shape: [64, 32] });
    await expect(readTensor(bare)).rejects.toThrow(UnsupportedError);
  });

  it('refuses more elements than one array holds, before it allocates', async () => {
    const tensor = tensorOf(new Uint8Array(4), { shape: [2 ** 20, 2 ** 20] });
    await expect(readTensor(tensor)).rejects.toThrow(/has 1099511627776 elements/);
    expect(tensor.file.reads).toEqual([]);
  });
});
