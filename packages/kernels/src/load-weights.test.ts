import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AbortError,
  type Backend,
  InvalidModelError,
  type MappedFile,
  MemoryFile,
  packMatrix,
  type WeightSource,
  type WeightSpec,
  weightByteLength,
} from '@hearth/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cpuBackend } from './__fixtures__/backends.ts';
import { fileSource } from './__fixtures__/weight-source.ts';
import { NativeFileMapper } from './file-mapper.ts';
import { loadAddon } from './load-addon.ts';
import { loadWeights } from './load-weights.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-kernels-'));
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** Bytes without a pattern that repeats within a row. */
function someBytes(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let i = 0; i < length; i++) bytes[i] = Math.imul(i, 2654435761) >>> 21;
  return bytes;
}

/** A file with `before` bytes of something else before the weight and some after it. */
async function writeFileAround(name: string, bytes: Uint8Array, before: number): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, Buffer.concat([new Uint8Array(before).fill(7), bytes, new Uint8Array(100).fill(9)]));
  return path;
}

describe.each(['map', 'read'] as const)("files opened to be '%s'", (fileAccess) => {
  it('are packed natively, in slabs, from any offset', async () => {
    const [rows, columns] = [2501, 4096]; // 11 MB of q8_0: two slabs
    const bytes = someBytes(weightByteLength('q8_0', rows * columns));
    const path = await writeFileAround(`slabs-${fileAccess}`, bytes, 32 + 1);
    const runtime = new (loadAddon().Runtime)('', 2);
    const file = await new NativeFileMapper(runtime, fileAccess).open(path);
    expect(file.native.isMapped).toBe(fileAccess === 'map');
    const native = runtime.createWeights();
    const spec = { name: 'w', role: 'matrix', shape: [rows, columns] } as const;
    const source = fileSource('w', spec.shape, 'q8_0', file, { offset: 33, byteLength: bytes.length });
    const progress: number[] = [];
    const options = { onProgress: ({ doneBytes }: { doneBytes: number }) => void progress.push(doneBytes) };
    const { byName } = await loadWeights(native, [spec], new Map([['w', source]]), options);
    const packed = native.readTensor(byName.get('w')!.index);
    expect(Buffer.from(packed).equals(packMatrix('q8_0', rows, columns, bytes))).toBe(true);
    expect(progress.length).toBeGreaterThan(1);
    expect(progress.at(-1)).toBe(bytes.length);
    await file.close();
    await runtime.dispose();
  });

  it('are read in part, and refuse what is not there', async () => {
    const backend = await cpuBackend({ fileAccess });
    const bytes = someBytes(5000);
    const file = await backend.fileMapper.open(await writeFileAround(`part-${fileAccess}`, bytes, 0));
    expect(file.size).toBe(5100);
    expect(Buffer.from(await file.read(1234, 3000)).equals(bytes.subarray(1234, 4234))).toBe(true);
    expect(await file.read(5100, 0)).toHaveLength(0);
    for (const [offset, length] of [
      [5000, 101],
      [-1, 5],
      [0, -1],
      [0.5, 4],
      [2 ** 53, 1],
      [1, 2 ** 53],
    ] as const) {
      await expect(file.read(offset, length), `${offset} + ${length}`).rejects.toThrow(InvalidModelError);
    }
    await file.close();
    await file.close();
    await expect(file.read(0, 1)).rejects.toThrow(/disposed/);
  });

  it('that were cut short after they were opened are refused, before and while weights are packed', async () => {
    const backend = await cpuBackend({ fileAccess });
    const bytes = someBytes(64 * 64 * 4);
    const path = await writeFileAround(`cut-${fileAccess}`, bytes, 0);
    const file = await backend.fileMapper.open(path);
    await truncate(path, 10_000);
    const specs: WeightSpec[] = [{ name: 'w', role: 'matrix', shape: [64, 64] }];
    const sources = new Map([['w', fileSource('w', [64, 64], 'f32', file, { byteLength: bytes.length })]]);
    await expect(backend.loadWeights(specs, sources)).rejects.toThrow(/has 10000 bytes.*cut short/);
    await expect(file.read(9_000, 2_000)).rejects.toThrow(InvalidModelError);
    await file.close();
  });

  it('that do not exist or are directories are refused', async () => {
    const backend = await cpuBackend({ fileAccess });
    await expect(backend.fileMapper.open(join(directory, 'nothing'))).rejects.toThrow(/Cannot open.*No such file/);
    await expect(backend.fileMapper.open(directory)).rejects.toThrow(/not a regular file/);
  });

  it('that are empty open', async () => {
    const backend = await cpuBackend({ fileAccess });
    const path = join(directory, `empty-${fileAccess}`);
    await writeFile(path, '');
    const file = await backend.fileMapper.open(path);
    expect(file.size).toBe(0);
    await file.close();
  });

  it('may be closed while weights are packed from them', async () => {
    const backend = await cpuBackend({ fileAccess });
    const bytes = someBytes(512 * 1024 * 4);
    const file = await backend.fileMapper.open(await writeFileAround(`closed-${fileAccess}`, bytes, 0));
    const source = fileSource('w', [512, 1024], 'f32', file, { byteLength: bytes.length });
    const loading = backend.loadWeights([{ name: 'w', role: 'matrix', shape: [512, 1024] }], new Map([['w', source]]));
    await file.close();
    await (await loading).dispose();
  });
});

describe('sources', () => {
  const spec: WeightSpec = { name: 'w', role: 'matrix', shape: [4, 32] };
  const good = () => fileSource('w', [4, 32], 'q4_0', new MemoryFile(new Uint8Array(72)));
  const plain = () => fileSource('w', [4, 32], 'f32', new MemoryFile(new Uint8Array(512)));
  const wrong: [string, WeightSource | undefined, RegExp][] = [
    ['missing', undefined, /w: the model does not have it/],
    ['of another shape', { ...good(), shape: [32, 4] }, /shape \[32,4\], expected \[4,32\]/],
    ['of an unknown type', { ...good(), dtype: 'q1_k' as never }, /q1_k/],
    ['of a type that is a property of every object', { ...good(), dtype: 'toString' as never }, /toString/],
    ['with bytes missing', { ...good(), byteLength: 71 }, /has 71 bytes.*takes 72/],
    ['past the end of the file', { ...good(), offset: 1 }, /has 72 bytes, but bytes 1 to 73/],
    ['with a row named twice', { ...good(), rowOrder: Uint32Array.of(0, 1, 1, 3) }, /row 1 twice/],
    ['with a row that is not there', { ...good(), rowOrder: Uint32Array.of(0, 1, 2, 4) }, /row 4/],
    ['with too short a row order', { ...good(), rowOrder: Uint32Array.of(0, 1, 2) }, /3 entries for 4/],
    ['with too short a column order', { ...good(), columnOrder: Uint32Array.of(0, 1) }, /2 entries for 32 columns/],
    ['with a column named twice', { ...good(), columnOrder: new Uint32Array(32) }, /column 0 twice/],
    [
      'of plain floats with a column order',
      { ...plain(), columnOrder: new Uint32Array(32) },
      /f32 matrix.*column order/,
    ],
  ];
  it.each(wrong)('%s are refused', async (_, source, message) => {
    const backend = await cpuBackend();
    const sources = new Map(source ? [['w', source]] : []);
    const loading = backend.loadWeights([spec], sources);
    await expect(loading).rejects.toThrow(InvalidModelError);
    await expect(loading).rejects.toThrow(message);
  });

  it('whose rows are not whole blocks are refused', async () => {
    const backend = await cpuBackend();
    const source = { ...good(), shape: [4, 33] };
    const loading = backend.loadWeights([{ ...spec, shape: [4, 33] }], new Map([['w', source]]));
    await expect(loading).rejects.toThrow(/not whole q4_0 blocks/);
  });

  it('become f32 vectors from every type, reordered', async () => {
    const runtime = new (loadAddon().Runtime)('', 1);
    const native = runtime.createWeights();
    const values = Float32Array.of(1.5, -2, 0.25);
    const floats = new Uint8Array(values.buffer);
    const f16 = new Uint8Array(Uint16Array.of(0x3e00, 0xc000, 0x3400).buffer);
    const bf16 = new Uint8Array(Uint16Array.of(0x3fc0, 0xc000, 0x3e80).buffer);
    for (const [dtype, bytes] of [
      ['f32', floats],
      ['f16', f16],
      ['bf16', bf16],
    ] as const) {
      for (const rowOrder of [undefined, Uint32Array.of(2, 0, 1)]) {
        const source = fileSource('v', [3], dtype, new MemoryFile(bytes), rowOrder && { rowOrder });
        const { byName } = await loadWeights(
          native,
          [{ name: 'v', role: 'vector', shape: [3] }],
          new Map([['v', source]]),
        );
        const got = new Float32Array(native.readTensor(byName.get('v')!.index).buffer);
        expect([...got]).toEqual(rowOrder ? [0.25, 1.5, -2] : [1.5, -2, 0.25]);
      }
    }
    await runtime.dispose();
  });
});

describe('loading', () => {
  /** A file whose reads are seen, and can be acted upon. */
  class WatchedFile extends MemoryFile {
    reads = 0;
    constructor(
      bytes: Uint8Array,
      private readonly onRead: (reads: number) => void,
    ) {
      super(bytes);
    }
    override read(offset: number, length: number): Promise<Uint8Array> {
      this.onRead(++this.reads);
      return super.read(offset, length);
    }
  }

  const specs: WeightSpec[] = Array.from({ length: 4 }, (_, i) => ({ name: `w${i}`, role: 'matrix', shape: [8, 32] }));
  const sourcesOf = (file: MappedFile) =>
    new Map(specs.map(({ name, shape }) => [name, fileSource(name, shape, 'f32', file)]));

  it('stops at an abort, between tensors', async () => {
    const backend = await cpuBackend();
    const controller = new AbortController();
    const file = new WatchedFile(new Uint8Array(1024), (reads) => reads === 2 && controller.abort(new Error('enough')));
    const loading = backend.loadWeights(specs, sourcesOf(file), { signal: controller.signal });
    await expect(loading).rejects.toThrow(AbortError);
    await expect(loading).rejects.toMatchObject({ cause: { message: 'enough' } });
    expect(file.reads).toBe(2);
  });

  it('passes on what a file or a progress callback throws', async () => {
    const backend = await cpuBackend();
    const failing = new WatchedFile(new Uint8Array(1024), (reads) => {
      if (reads === 3) throw new Error('disk on fire');
    });
    await expect(backend.loadWeights(specs, sourcesOf(failing))).rejects.toThrow('disk on fire');
    const onProgress = () => {
      throw new Error('no more');
    };
    const file = new MemoryFile(new Uint8Array(1024));
    await expect(backend.loadWeights(specs, sourcesOf(file), { onProgress })).rejects.toThrow('no more');
  });

  it('reads plain files in bounded chunks', async () => {
    const backend: Backend = await cpuBackend();
    const bytes = new Uint8Array(10 * 1024 * 1024);
    let largest = 0;
    const file: MappedFile = {
      path: '(test)',
      size: bytes.length,
      read: async (offset, length) => {
        largest = Math.max(largest, length);
        return bytes.slice(offset, offset + length);
      },
      close: async () => {},
    };
    const shape = [2560, 1024];
    const weights = await backend.loadWeights(
      [{ name: 'w', role: 'matrix', shape }],
      new Map([['w', fileSource('w', shape, 'f32', file)]]),
    );
    expect(largest).toBeLessThanOrEqual(4 * 1024 * 1024);
    expect(weights.sourceBytes).toBe(bytes.length);
    expect(weights.packedBytes).toBe(bytes.length);
    await weights.dispose();
  });

  it('refuses a plain file that gives fewer bytes than asked for', async () => {
    const backend = await cpuBackend();
    const file: MappedFile = {
      path: '(short)',
      size: 1024,
      read: async () => new Uint8Array(1000),
      close: async () => {},
    };
    await expect(backend.loadWeights(specs, sourcesOf(file))).rejects.toThrow(/take 1024 bytes, got 1000/);
  });
});
