import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, stat, truncate, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Backend,
  MemoryFile,
  type PackedCache,
  type WeightDtype,
  type WeightSource,
  type WeightSpec,
  weightDtypes,
} from '@hearth/core';
import { buildModel } from '@hearth/models';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cpuBackend, disposeAtEnd } from '../__fixtures__/backends.ts';
import { makeBatch } from '../__fixtures__/batches.ts';
import { firstDifference } from '../__fixtures__/bits.ts';
import { type BlockDtype, blockDtypes, randomBlocks } from '../__fixtures__/random-blocks.ts';
import { randomSources, tinyLlamaConfig } from '../__fixtures__/tiny-llama.ts';
import { fileSource } from '../__fixtures__/weight-source.ts';
import type { CpuWeights } from '../cpu-weights.ts';
import { NativeFileMapper } from '../file-mapper.ts';
import { listPackedFiles, removePackedFiles } from './directory.ts';

let directory: string;
let warnings: string[];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-packed-'));
  warnings = [];
});

afterEach(() => rm(directory, { recursive: true, force: true }));

function cache(more: Partial<PackedCache> = {}): PackedCache {
  const onWarning = (message: string) => void warnings.push(message);
  return { directory, maxBytes: 1e9, minBytes: 0, source: '/models/m.gguf', identity: 'first', onWarning, ...more };
}

interface Some {
  readonly specs: readonly WeightSpec[];
  readonly sources: ReadonlyMap<string, WeightSource>;
}

/** A matrix that is no whole number of tiles, with both orders where its type may have them, between two vectors. */
function someWeights(dtype: WeightDtype, seed = 1): Some {
  const [rows, columns] = [13, 512];
  const isBlocks = (blockDtypes as string[]).includes(dtype);
  const bytes = isBlocks
    ? randomBlocks(dtype as BlockDtype, rows * columns, seed)
    : Uint8Array.from({ length: rows * columns * weightDtypes[dtype].blockBytes }, (_, i) => (i * 31 + seed) % 64);
  const rowOrder = Uint32Array.from({ length: rows }, (_, i) => (i * 5) % rows);
  const columnOrder = Uint32Array.from({ length: columns }, (_, i) => columns - 1 - i);
  const file = new MemoryFile(bytes);
  const orders = isBlocks && dtype !== 'f8_e4m3' ? { rowOrder, columnOrder } : { rowOrder };
  const floats = (length: number) =>
    new MemoryFile(new Uint8Array(Float32Array.from({ length }, (_, i) => i + seed).buffer));
  const sources: WeightSource[] = [
    fileSource('a', [5], 'f32', floats(5)),
    fileSource('m', [rows, columns], dtype, file, orders),
    fileSource('z', [600], 'f32', floats(600)),
  ];
  const specs = sources.map(
    ({ name, shape }): WeightSpec => ({ name, role: name === 'm' ? 'matrix' : 'vector', shape }),
  );
  return { specs, sources: new Map(sources.map((source) => [source.name, source])) };
}

async function load(backend: Backend, { specs, sources }: Some, packedCache?: PackedCache): Promise<CpuWeights> {
  const weights = (await backend.loadWeights(specs, sources, { packedCache })) as CpuWeights;
  disposeAtEnd(weights);
  return weights;
}

/** Packs and keeps weights; the path of their file. */
async function keep(backend: Backend, some: Some, packedCache = cache()): Promise<string> {
  const weights = await load(backend, some, packedCache);
  expect(weights.isFromCache).toBe(false);
  await weights.writer!.start();
  await weights.dispose();
  const files = await listPackedFiles(packedCache.directory);
  return files.find(({ source }) => source === packedCache.source)!.path;
}

const bytesOf = (weights: CpuWeights, { specs }: Some) =>
  specs.map((spec) => Buffer.from(weights.native.readTensor(weights.indexOf(spec))).toString('hex'));

describe.each(['map', 'read'] as const)("with files opened to be '%s'", (fileAccess) => {
  it.each(Object.keys(weightDtypes) as WeightDtype[])('%s weights come back as they were packed', async (dtype) => {
    const backend = await cpuBackend({ fileAccess });
    const some = someWeights(dtype);
    const packed = await load(backend, some);
    await keep(backend, some);
    const kept = await load(backend, some, cache());
    expect(kept.isFromCache).toBe(true);
    expect(kept.writer).toBeUndefined();
    expect(bytesOf(kept, some)).toEqual(bytesOf(packed, some));
    expect([kept.packedBytes, kept.sourceBytes]).toEqual([packed.packedBytes, packed.sourceBytes]);
    expect(warnings).toEqual([]);
  });

  it('a file that is cut short before it is mapped is refused', async () => {
    const backend = await cpuBackend({ fileAccess });
    const some = someWeights('q4_0');
    await truncate(await keep(backend, some), 4096 + 64);
    expect((await load(backend, some, cache())).isFromCache).toBe(false);
    expect(warnings).toEqual([expect.stringMatching(/were not used, because it has 4160 bytes, where \d+ are needed/)]);
  });
});

it.each(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1'] as const)(
  'a model of %s computes the same bits',
  async (dtype) => {
    const model = await buildModel(tinyLlamaConfig);
    const some = { specs: model.weights, sources: randomSources(model, dtype) };
    const backend = await cpuBackend();
    const logits = async () => {
      const weights = await load(backend, some, cache());
      const options = {
        maxTokens: 64,
        maxOutputRows: 4,
        cache: { dtype: 'f16', blockSize: 16, numBlocks: 16 },
      } as const;
      const executable = await backend.compile(model.createProgram(), weights, options);
      const tokenIds = Array.from({ length: 20 }, (_, i) => (i * 7) % 96);
      const { logits: rows } = await executable.step(
        makeBatch([{ tokenIds, start: 0, blocks: [0, 1], outputs: [3, 19] }]),
      );
      const copy = rows!.slice();
      // The step has begun to write.
      await weights.writer?.start();
      await executable.dispose();
      await weights.dispose();
      return { copy, isFromCache: weights.isFromCache };
    };
    const first = await logits();
    const second = await logits();
    expect([first.isFromCache, second.isFromCache]).toEqual([false, true]);
    expect(firstDifference(second.copy, first.copy)).toBeNull();
  },
);

describe('a packed file', () => {
  const some = someWeights('q8_0');

  const damages: [string, (path: string) => Promise<void>, RegExp][] = [
    ['that is empty', (path) => truncate(path, 0), /cut short/],
    ['that is something else', (path) => writeFile(path, 'x'.repeat(5000)), /no packed file/],
    ['whose header is damaged', (path) => edit(path, 200), /header is damaged/],
    ['whose first weights are damaged', (path) => edit(path, 4096 + 3), /weights are damaged/],
    ['whose last byte is damaged', async (path) => edit(path, (await stat(path)).size - 1), /weights are damaged/],
    ['with more bytes', async (path) => truncate(path, (await stat(path)).size + 1), /bytes, where \d+ are needed/],
  ];
  it.each(damages)('%s is not used, and written again', async (_, damage, message) => {
    const backend = await cpuBackend();
    const path = await keep(backend, some);
    await damage(path);
    expect(await keep(backend, some)).toBe(path);
    expect(warnings).toEqual([expect.stringMatching(message)]);
    expect((await load(backend, some, cache())).isFromCache).toBe(true);
  });

  it('of a model that changed since is replaced without a word', async () => {
    const backend = await cpuBackend();
    const path = await keep(backend, some);
    expect(await keep(backend, someWeights('q8_0', 2), cache({ identity: 'second' }))).toBe(path);
    expect((await load(backend, some, cache({ identity: 'second' }))).isFromCache).toBe(true);
    expect((await load(backend, some, cache())).isFromCache).toBe(false);
    expect(warnings).toEqual([]);
  });

  it('is told apart by everything that the weights are made from', async () => {
    const backend = await cpuBackend();
    await keep(backend, some);
    const matrix = some.sources.get('m')!;
    const variations: Some[] = [
      { ...some, specs: some.specs.map((spec) => ({ ...spec, plus: 1 })) },
      { ...some, specs: some.specs.map((spec) => ({ ...spec, transposed: true })) },
      { ...some, sources: new Map([...some.sources, ['m', without(matrix, 'rowOrder')]]) },
      { ...some, sources: new Map([...some.sources, ['m', without(matrix, 'columnOrder')]]) },
      { specs: [...some.specs].reverse(), sources: some.sources },
      someWeights('q4_0'),
    ];
    for (const other of variations) expect((await load(backend, other, cache())).isFromCache).toBe(false);
    expect((await load(backend, some, cache({ source: '/models/other.gguf' }))).isFromCache).toBe(false);
    expect((await load(backend, some, cache())).isFromCache).toBe(true);
  });

  it('whose mapping would be slow is read', async () => {
    const backend = await cpuBackend();
    const path = await keep(backend, some);
    const mapper = backend.fileMapper as NativeFileMapper;
    const isMapped: boolean[] = [];
    const open = vi.spyOn(mapper, 'open').mockImplementation(async (...args) => {
      const file = await NativeFileMapper.prototype.open.apply(mapper, args);
      isMapped.push(file.native.isMapped);
      Object.defineProperty(file.native, 'isQuick', { value: async () => false });
      return file;
    });
    const read = await load(backend, some, cache());
    open.mockRestore();
    expect(isMapped).toEqual([true, false]);
    expect(read.isFromCache).toBe(true);
    await truncate(path, 0); // which would end the process if it were mapped
    expect(bytesOf(read, some)).toEqual(bytesOf(await load(backend, some), some));
  });

  it('may be deleted or written again while weights are used from it', async () => {
    const backend = await cpuBackend();
    const path = await keep(backend, some);
    const kept = await load(backend, some, cache());
    const before = bytesOf(kept, some);
    await rm(path);
    await keep(backend, some);
    expect(bytesOf(kept, some)).toEqual(before);
  });
});

describe('writing', () => {
  const some = someWeights('f16');

  it('that is cancelled leaves nothing', async () => {
    const backend = await cpuBackend();
    const weights = await load(backend, manyWeights(), cache());
    const writing = weights.writer!.start();
    while ((await readdir(directory)).length === 0) await new Promise((resolve) => setImmediate(resolve));
    await weights.dispose();
    await writing;
    expect(await readdir(directory)).toEqual([]);
    expect(warnings).toEqual([]);
    expect(await weights.writer!.start()).toBeUndefined();
    expect(await readdir(directory)).toEqual([]);
  });

  it('by several at once ends with one good file', async () => {
    const backends = await Promise.all([1, 2, 3].map((numThreads) => cpuBackend({ numThreads })));
    await Promise.all(backends.map((backend) => keep(backend, some)));
    expect(await readdir(directory)).toHaveLength(1);
    expect((await load(backends[0]!, some, cache())).isFromCache).toBe(true);
  });

  it('that fails is a warning', async () => {
    const backend = await cpuBackend();
    await writeFile(join(directory, 'file'), '');
    const weights = await load(backend, some, cache({ directory: join(directory, 'file') }));
    await weights.writer!.start();
    expect(warnings).toEqual([expect.stringMatching(/were not kept for the next start.*file/)]);
  });

  it.each(['a file above', '/proc'])(
    'into a directory that cannot be made, because of %s, is a warning',
    async (above) => {
      const file = join(directory, 'file');
      await writeFile(file, '');
      const weights = await load(
        await cpuBackend(),
        some,
        cache({ directory: join(above === '/proc' ? above : file, 'a/b') }),
      );
      await weights.writer!.start();
      expect(warnings).toEqual([expect.stringMatching(/were not kept for the next start.*mkdir/)]);
    },
  );

  it('makes the directories above it', async () => {
    await keep(await cpuBackend(), some, cache({ directory: join(directory, 'a/b') }));
    expect(await listPackedFiles(join(directory, 'a/b'))).toHaveLength(1);
  });

  it('does not happen when a source was written to meanwhile', async () => {
    const path = join(directory, 'source');
    await writeFile(path, new Uint8Array(8 * 8 * 4));
    const backend = await cpuBackend();
    const file = await backend.fileMapper.open(path);
    const specs: WeightSpec[] = [{ name: 'w', role: 'matrix', shape: [8, 8] }];
    const weights = await load(
      backend,
      { specs, sources: new Map([['w', fileSource('w', [8, 8], 'f32', file)]]) },
      cache(),
    );
    await utimes(path, 1, 1);
    await weights.writer!.start();
    expect(await listPackedFiles(directory)).toEqual([]);
    await file.close();
  });

  it('leaves out what is too large for the cache or too small to matter', async () => {
    const backend = await cpuBackend();
    const tooLarge = await load(backend, some, cache({ maxBytes: 10_000 }));
    await tooLarge.writer!.start();
    expect(await readdir(directory)).toEqual([]);
    expect((await load(backend, some, cache({ minBytes: 1e6 }))).writer).toBeUndefined();
  });

  it('makes room by deleting what was used longest ago, and litter', async () => {
    const backend = await cpuBackend();
    const first = await keep(backend, some, cache({ source: '/a' }));
    const second = await keep(backend, some, cache({ source: '/b' }));
    await utimes(first, 10, 10);
    await utimes(second, 20, 20);
    const litter = join(directory, 'x.packed.abc.part');
    const current = join(directory, 'y.packed.abc.part');
    await writeFile(litter, '');
    await writeFile(current, '');
    await utimes(litter, 10, 10);
    // Loading from it makes the first one the younger.
    expect((await load(backend, some, cache({ source: '/a' }))).isFromCache).toBe(true);
    const { size } = await stat(first);
    await keep(backend, some, cache({ source: '/c', maxBytes: 2 * size }));
    expect((await listPackedFiles(directory)).map(({ source }) => source).sort()).toEqual(['/a', '/c']);
    expect(await readdir(directory)).toContain('y.packed.abc.part');
    expect(await readdir(directory)).not.toContain('x.packed.abc.part');
  });
});

it('packed files are listed and removed, one model or all', async () => {
  const backend = await cpuBackend();
  const some = someWeights('q4_1');
  for (const source of ['/models/a.gguf', '/models/b/model', '/modelsx']) await keep(backend, some, cache({ source }));
  await writeFile(join(directory, 'damaged.packed'), 'x');
  const listed = await listPackedFiles(directory);
  expect(listed.map(({ source }) => source).sort()).toEqual(['/models/a.gguf', '/models/b/model', '/modelsx', null]);
  expect((await removePackedFiles(directory, '/models')).map(({ source }) => source).sort()).toEqual([
    '/models/a.gguf',
    '/models/b/model',
  ]);
  expect(await removePackedFiles(directory)).toHaveLength(2);
  expect(await listPackedFiles(join(directory, 'nowhere'))).toEqual([]);
});

it('what is no file is neither listed nor removed, and does not block', async () => {
  await mkdir(join(directory, 'directory.packed'));
  execFileSync('mkfifo', [join(directory, 'pipe.packed')]);
  expect(await listPackedFiles(directory)).toEqual([]);
  expect(await removePackedFiles(directory)).toEqual([]);
  const backend = await cpuBackend();
  await keep(backend, someWeights('q4_1'));
  expect(await listPackedFiles(directory)).toHaveLength(1);
  expect(warnings).toEqual([]);
});

/** 64 MB: writing them takes a while. */
function manyWeights(): Some {
  const file = new MemoryFile(new Uint8Array(4096 * 4096 * 4));
  const specs: WeightSpec[] = [{ name: 'w', role: 'matrix', shape: [4096, 4096] }];
  return { specs, sources: new Map([['w', fileSource('w', [4096, 4096], 'f32', file)]]) };
}

function without(source: WeightSource, key: 'rowOrder' | 'columnOrder'): WeightSource {
  const { [key]: _, ...others } = source;
  return others;
}

async function edit(path: string, at: number): Promise<void> {
  const bytes = await readFile(path);
  bytes[at]! ^= 0x10;
  await writeFile(path, bytes);
}
