import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { AbortError, decodeElements, InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { counting } from '../__fixtures__/gguf-bytes.ts';
import { temporaryDirectory } from '../__fixtures__/temporary-directory.ts';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import { readSafetensors } from './read-safetensors.ts';
import { writeSafetensors } from './write-safetensors.ts';
import { writeShardedSafetensors } from './write-shards.ts';

const directory = await temporaryDirectory();

function tensor(name: string, length: number, dtype = 'f32', bytes = 4 * length): TensorToWrite {
  return { name, dtype, shape: [length], data: () => new Uint8Array(bytes).fill(length) };
}

describe('reading what another writer wrote', () => {
  it('gives notes and tensors of the safetensors Python package', async () => {
    const path = fileURLToPath(new URL('./__fixtures__/python-written.safetensors', import.meta.url));
    const header = await readSafetensors(path);
    expect(Object.fromEntries(header.metadata)).toEqual({ format: 'pt', note: 'é' });
    const bytes = await readFile(path);
    const tensors = new Map(header.tensors.map((entry) => [entry.name, entry]));
    expect([...tensors.keys()].sort()).toEqual(['bf16', 'bool', 'empty', 'f16', 'f32', 'i64', 'né 雪', 'scalar']);
    const values = (name: string) => {
      const { dtype, offset, byteLength } = tensors.get(name)!;
      return [...decodeElements(dtype as 'f32', bytes.subarray(offset, offset + byteLength))];
    };
    const twelve = Array.from({ length: 12 }, (_, i) => i);
    expect(tensors.get('f32')!.shape).toEqual([3, 4]);
    expect(values('f32')).toEqual(twelve);
    expect(values('f16')).toEqual(twelve.map((value) => value / 4));
    expect(values('bf16')).toEqual(twelve.map((value) => value / 4));
    expect(values('scalar')).toEqual([2.5]);
    expect(values('né 雪')).toEqual([7]);
    expect(tensors.get('empty')).toMatchObject({ shape: [0, 4], byteLength: 0 });
    expect(tensors.get('i64')).toMatchObject({ dtype: 'i64', byteLength: 16 });
  });
});

describe('writeSafetensors', () => {
  it('writes tensors that read back the same, each aligned to its elements', async () => {
    const path = join(directory, 'mixed.safetensors');
    const tensors: TensorToWrite[] = [
      tensor('b', 3, 'bool', 3),
      tensor('h', 3, 'bf16', 6),
      { name: 'matrix "é"', dtype: 'f32', shape: [2, 3], data: async () => counting(6) },
      tensor('long', 1, 'i64', 8),
      { name: 'empty', dtype: 'f32', shape: [0], data: () => new Uint8Array(0) },
    ];
    await writeSafetensors(path, tensors);
    const header = await readSafetensors(path);
    expect(header.dataOffset % 8).toBe(0);
    expect(header.metadata.get('format')).toBe('pt');
    const bytes = await readFile(path);
    for (const { name, dtype, shape, data } of tensors) {
      const entry = header.tensors.find((found) => found.name === name)!;
      expect(entry).toMatchObject({ dtype, shape });
      expect(new Uint8Array(bytes.subarray(entry.offset, entry.offset + entry.byteLength))).toEqual(await data());
      if (entry.byteLength > 0) {
        const elements = shape.reduce((product, dim) => product * dim, 1);
        expect(entry.offset % (entry.byteLength / elements)).toBe(0);
      }
    }
  });

  it('writes other notes, or none', async () => {
    const path = join(directory, 'notes.safetensors');
    await writeSafetensors(path, [tensor('a', 1)], { metadata: { note: '雪' } });
    expect(Object.fromEntries((await readSafetensors(path)).metadata)).toEqual({ note: '雪' });
    await writeSafetensors(path, [tensor('a', 1)], { metadata: {} });
    expect((await readSafetensors(path)).metadata.size).toBe(0);
  });

  it('refuses what the format does not have, and data of a wrong length, and leaves nothing behind', async () => {
    const path = join(directory, 'refused.safetensors');
    const cases: [TensorToWrite[], RegExp][] = [
      [[tensor('x', 32, 'q4_0')], /"x" has dtype q4_0/],
      [[tensor('__metadata__', 1)], /"__metadata__"/],
      [[tensor('x', 1), tensor('x', 1)], /"x" is there twice/],
      [[tensor('x', 2, 'f32', 4)], /"x" .* takes 8 bytes, but its data has 4/],
      [[tensor('x', 3, 'f4', 2)], /multiple of 8 columns/],
    ];
    for (const [tensors, message] of cases) {
      await expect(writeSafetensors(path, tensors)).rejects.toThrow(message);
      await expect(writeSafetensors(path, tensors)).rejects.toThrow(InvalidArgumentError);
    }
    await expect(writeSafetensors(path, [tensor('x', 1)], { signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
    expect((await readdir(directory)).filter((name) => name.startsWith('refused'))).toEqual([]);
  });
});

describe('writeShardedSafetensors', () => {
  const tensors = [tensor('a', 10), tensor('b', 10), tensor('c', 30), tensor('d', 1)];

  it('writes one file when the tensors fit', async () => {
    const path = join(directory, 'single');
    await mkdir(path);
    expect(await writeShardedSafetensors(path, tensors)).toEqual(['model.safetensors']);
    expect(await readdir(path)).toEqual(['model.safetensors']);
  });

  it('cuts where a shard would grow too large; a tensor larger than that stands alone', async () => {
    const path = join(directory, 'shards');
    await mkdir(path);
    const names = await writeShardedSafetensors(path, tensors, { maxShardBytes: 80 });
    expect(names).toEqual([1, 2, 3].map((i) => `model-0000${i}-of-00003.safetensors`));
    const index = JSON.parse(await readFile(join(path, 'model.safetensors.index.json'), 'utf8'));
    expect(index).toEqual({
      metadata: { total_size: 4 * 51 },
      weight_map: { a: names[0], b: names[0], c: names[1], d: names[2] },
    });
    for (const [i, expected] of [['a', 'b'], ['c'], ['d']].entries()) {
      const header = await readSafetensors(join(path, names[i]!));
      expect(header.tensors.map(({ name }) => name)).toEqual(expected);
    }
  });

  it('refuses a limit that is none', async () => {
    for (const maxShardBytes of [0, -1, Number.NaN]) {
      await expect(writeShardedSafetensors(directory, tensors, { maxShardBytes })).rejects.toThrow(
        InvalidArgumentError,
      );
    }
  });
});
