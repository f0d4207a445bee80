import {
  AbortError,
  type Backend,
  DisposedError,
  InvalidArgumentError,
  LimitExceededError,
  type Op,
} from '@hearth/core';
import { createReferenceBackend } from '@hearth/reference';
import { describe, expect, it } from 'vitest';
import { cpuBackend } from './__fixtures__/backends.ts';
import { makeBatch, prefill, someTokens } from './__fixtures__/batches.ts';
import { firstDifference } from './__fixtures__/bits.ts';
import { compileOps, loadOps, type OpProgram } from './__fixtures__/op-program.ts';
import { randomFloats, seededRandom } from './__fixtures__/random.ts';
import { tinyLlama } from './__fixtures__/tiny-llama.ts';
import { createCpuBackend } from './cpu-backend.ts';

const oneToken = makeBatch([{ tokenIds: [1], start: 0, blocks: [0] }]);

/** Many products of 512 tokens with 512 x 512 matrices: some hundred milliseconds, in many ops. */
function slowProgram(numOps = 60): OpProgram {
  const width = 512;
  const matrix = { role: 'matrix', shape: [width, width], values: new Float32Array(width * width).fill(0.01) } as const;
  const ops = Array.from(
    { length: numOps },
    (_, i): Op => ({
      kind: 'linear',
      name: `linear${i}`,
      x: { buffer: 0, column: 0, width },
      weights: [0],
      biases: [null],
      out: { buffer: 1, column: 0, width },
    }),
  );
  const input = randomFloats(seededRandom(1), 512 * width);
  return { input, inputWidth: width, buffers: [width], weights: [matrix], ops };
}

const slowBatch = () =>
  makeBatch([
    {
      tokenIds: Array.from({ length: 512 }, (_, t) => t),
      start: 0,
      blocks: Array.from({ length: 32 }, (_, b) => b),
      outputs: [0],
    },
  ]);

const turnOfEventLoop = () => new Promise((resolve) => setImmediate(resolve));

describe('a step', () => {
  it('leaves the event loop free, and refuses another one meanwhile', async () => {
    const { executable, dispose } = await compileOps(await cpuBackend(), slowProgram());
    let ended = false;
    const step = executable.step(slowBatch()).finally(() => {
      ended = true;
    });
    await expect(executable.step(slowBatch())).rejects.toThrow(/A step is running/);
    let turns = 0;
    while (!ended) {
      await turnOfEventLoop();
      turns++;
    }
    await step;
    expect(turns).toBeGreaterThan(10);
    await dispose();
  });

  it('ends at an abort between ops, and the next one is as if nothing had been', async () => {
    const { executable, dispose } = await compileOps(await cpuBackend(), slowProgram());
    const { captures } = await executable.step(slowBatch());
    const controller = new AbortController();
    const step = executable.step(slowBatch(), { signal: controller.signal, profile: true });
    await turnOfEventLoop();
    controller.abort(new Error('changed my mind'));
    await expect(step).rejects.toThrow(AbortError);
    await expect(step).rejects.toMatchObject({ cause: { message: 'changed my mind' } });
    const again = await executable.step(slowBatch(), { signal: new AbortController().signal });
    expect(firstDifference(again.captures!.get('result'), captures!.get('result'))).toBeNull();
    // A signal that fires after its step concerns nobody.
    await executable.step(slowBatch());
    await dispose();
  });

  it('does not begin when the signal has fired', async () => {
    const executable = await tinyLlama(await cpuBackend());
    await expect(executable.step(oneToken, { signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
    await expect(executable.step(oneToken)).resolves.toBeDefined();
  });

  it('refuses a malformed batch, and stays usable', async () => {
    const executable = await tinyLlama(await cpuBackend(), { numBlocks: 4 });
    const wrong = [
      { ...oneToken, tokenIds: Int32Array.of(96) },
      { ...oneToken, blockTables: [] },
      { ...oneToken, outputRows: Int32Array.of(1) },
      makeBatch([{ tokenIds: [1], start: 0, blocks: [4] }]),
    ];
    for (const batch of wrong) await expect(executable.step(batch)).rejects.toThrow(InvalidArgumentError);
    const logprob = (tokenId: number) => ({ kind: 'logprob', tokenId }) as const;
    const two = { kind: 'rows', rows: [logprob(1), logprob(2)] } as const;
    await expect(executable.step(oneToken, { output: two })).rejects.toThrow(/each of the 1 output rows, but has 2/);
    const far = { kind: 'rows', rows: [logprob(96)] } as const;
    await expect(executable.step(oneToken, { output: far })).rejects.toThrow(/outside the vocabulary/);
    await expect(executable.step(oneToken)).resolves.toBeDefined();
  });

  it('takes no output rows', async () => {
    const executable = await tinyLlama(await cpuBackend());
    const { logits } = await executable.step(makeBatch([{ tokenIds: [1, 2], start: 0, blocks: [0], outputs: [] }]));
    expect(logits).toHaveLength(0);
  });

  it('profiles every op when asked', async () => {
    const executable = await tinyLlama(await cpuBackend());
    const { profile, logits } = await executable.step(oneToken, { profile: true });
    expect(profile!.map(({ op }) => op)).toEqual(executable.program.ops.map((_, i) => i));
    expect(profile!.every(({ nanoseconds }) => nanoseconds > 0)).toBe(true);
    expect(logits).toBeDefined();
    expect((await executable.step(oneToken)).profile).toBeUndefined();
  });

  it('does not care what happens to the memory of its results', async () => {
    const executable = await tinyLlama(await cpuBackend());
    const first = (await executable.step(oneToken)).logits!;
    const values = first.slice();
    const memory = first.buffer as ArrayBuffer & { transfer?: () => ArrayBuffer };
    // Take it away in the ways there are. Node.js ignores or refuses the first for native memory; some versions lack the second.
    const attempts = [() => structuredClone(memory, { transfer: [memory] }), () => memory.transfer?.()];
    for (const attempt of attempts) {
      try {
        attempt();
      } catch {
        // refused
      }
      expect(firstDifference((await executable.step(oneToken)).logits, values)).toBeNull();
    }
  });
});

describe('disposal', () => {
  it('of an executable waits for its step, twice is fine, and ends it for good', async () => {
    const { executable, dispose } = await compileOps(await cpuBackend(), slowProgram(20));
    let ended = false;
    const step = executable.step(slowBatch()).then((result) => {
      ended = true;
      return result;
    });
    const disposal = executable.dispose();
    expect(executable.dispose()).toBe(disposal);
    await expect(executable.step(slowBatch())).rejects.toThrow(DisposedError);
    await disposal;
    expect(ended).toBe(true);
    expect((await step).captures!.get('result')).toHaveLength(512 * 512);
    await expect(executable.cache.zeroBlocks(Int32Array.of(0))).rejects.toThrow(DisposedError);
    await dispose();
  });

  it('keeps the order: executables, weights, backend', async () => {
    const backend = await createCpuBackend({ numThreads: 2 });
    const { executable, dispose } = await compileOps(backend, slowProgram(1));
    await expect(backend.dispose()).rejects.toThrow(/executables \(1 left\) and weights \(1 left\)/);
    await executable.step(slowBatch());
    await dispose();
    await backend.dispose();
    await backend.dispose();
    await expect(backend.fileMapper.open('/')).rejects.toThrow(DisposedError);
    await expect(backend.loadWeights([], new Map())).rejects.toThrow(DisposedError);
  });

  it('of weights is refused while an executable lives, twice is fine', async () => {
    const backend = await cpuBackend();
    const weights = await backend.loadWeights([], new Map());
    await weights.dispose();
    await weights.dispose();
    const executable = await tinyLlama(backend);
    await expect(backend.compile(executable.program, weights, options)).rejects.toThrow(/disposed/);
  });

  it('in the middle of anything harms nothing', async () => {
    // A capped number of rounds: steps, cache operations and disposal race; whatever rejects does so with a Hearth error.
    const backend = await createCpuBackend({ numThreads: 3 });
    const random = seededRandom(7);
    for (let round = 0; round < 25; round++) {
      const { executable, dispose } = await compileOps(backend, slowProgram(1 + Math.floor(random() * 4)));
      const controller = new AbortController();
      const work = Promise.allSettled([
        executable.step(slowBatch(), { signal: controller.signal }),
        executable.cache.zeroBlocks(Int32Array.of(0, 1)),
        executable.cache.readBlocks(Int32Array.of(3)),
        executable.step(slowBatch()),
      ]);
      for (let turns = Math.floor(random() * 4); turns > 0; turns--) await turnOfEventLoop();
      if (random() < 0.5) controller.abort();
      await dispose();
      const results = await work;
      for (const result of results) {
        if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: expect.any(String) });
      }
      expect(results[3]).toMatchObject({ status: 'rejected' }); // a second step meanwhile
    }
    await backend.dispose();
  });
});

const options = { maxTokens: 8, maxOutputRows: 1, cache: { dtype: 'f16', blockSize: 16, numBlocks: 2 } } as const;

describe('compile', () => {
  it('refuses options out of range', async () => {
    const backend = await cpuBackend();
    const layer = { numKvHeads: 8, headDim: 128, group: 0 };
    const { program, weights } = await loadOps(backend, { ...slowProgram(1), frame: { cacheLayers: [layer] } });
    const compile = (change: object, cache: object = {}) =>
      backend.compile(program, weights, { ...options, ...change, cache: { ...options.cache, ...cache } });
    for (const change of [{ maxTokens: 0 }, { maxTokens: 1.5 }, { maxTokens: 2 ** 40 }, { maxOutputRows: 0 }]) {
      await expect(compile(change), JSON.stringify(change)).rejects.toThrow(InvalidArgumentError);
    }
    for (const cache of [{ blockSize: 8 }, { blockSize: 48 }, { numBlocks: 0 }, { dtype: 'q4' }]) {
      await expect(compile({}, cache), JSON.stringify(cache)).rejects.toThrow(InvalidArgumentError);
    }
    await expect(compile({}, { numBlocks: 2 ** 31 - 1, blockSize: 64 })).rejects.toThrow(LimitExceededError);
    await weights.dispose();
  });

  it('refuses weights of another backend, or other weights', async () => {
    const backend = await cpuBackend();
    const { program } = await tinyLlama(backend);
    const reference = createReferenceBackend();
    const theirs = await reference.loadWeights([], new Map());
    await expect(backend.compile(program, theirs, options)).rejects.toThrow(/not loaded by this backend/);
    const none = await backend.loadWeights([], new Map());
    await expect(backend.compile(program, none, options)).rejects.toThrow(/needs the weight .* not loaded/);
    await none.dispose();
  });
});

describe('the cache', () => {
  it('gives back what was written, whole blocks and single layers', async () => {
    for (const [cacheDtype, elementBytes, scaleBytes] of [
      ['f16', 2, 0],
      ['f32', 4, 0],
      ['q8', 1, 4],
    ] as const) {
      const executable = await tinyLlama(await cpuBackend(), { cacheDtype, config: { head_dim: 12 } });
      const { cache } = executable;
      // Layers, heads, keys and padded values.
      const bytesPerPosition = 2 * 2 * ((12 + 16) * elementBytes + 2 * scaleBytes);
      expect(cache.bytesPerBlock).toBe(16 * bytesPerPosition);
      const tokens = someTokens(40);
      const [logits] = [(await prefill(executable, tokens)).logits!.slice()];
      const before = await cache.readLayer(1, Int32Array.of(0, 1, 2), 40);
      expect(before.k).toHaveLength(40 * 2 * 12);
      const bytes = await cache.readBlocks(Int32Array.of(0, 1, 2));

      await cache.copyBlocks(Int32Array.of(0, 1, 2), Int32Array.of(10, 11, 12));
      await cache.zeroBlocks(Int32Array.of(0, 1, 2));
      const zeroed = await cache.readLayer(1, Int32Array.of(0, 1, 2), 40);
      expect(zeroed.k.every((x) => x === 0) && zeroed.v.every((x) => x === 0)).toBe(true);

      await cache.writeBlocks(Int32Array.of(20, 21, 22), bytes);
      for (const table of [Int32Array.of(10, 11, 12), Int32Array.of(20, 11, 22)]) {
        const copy = await cache.readLayer(1, table, 40);
        expect(firstDifference(copy.k, before.k)).toBeNull();
        expect(firstDifference(copy.v, before.v)).toBeNull();
      }
      // The last token again, on the copies.
      const last = makeBatch([{ tokenIds: tokens.slice(39), start: 39, blocks: [20, 11, 22] }]);
      expect(firstDifference((await executable.step(last)).logits, logits)).toBeNull();
    }
  });

  it.each(['f32', 'f16', 'q8'] as const)('holds what the reference holds (%s)', async (cacheDtype) => {
    const read = async (backend: Backend) => {
      const executable = await tinyLlama(backend, { cacheDtype, dtype: 'q8_0' });
      await prefill(executable, someTokens(35));
      return executable.cache.readLayer(1, Int32Array.of(0, 1, 2), 35);
    };
    const [mine, theirs] = [await read(await cpuBackend()), await read(createReferenceBackend())];
    expect(firstDifference(mine.k, theirs.k)).toBeNull();
    expect(firstDifference(mine.v, theirs.v)).toBeNull();
  });

  it('refuses blocks, layers and sizes that are not there', async () => {
    const { cache } = await tinyLlama(await cpuBackend(), { numBlocks: 4 });
    const none = Int32Array.of(4);
    const negative = Int32Array.of(-1);
    const one = Int32Array.of(1);
    for (const attempt of [
      () => cache.zeroBlocks(none),
      () => cache.zeroBlocks(negative),
      () => cache.copyBlocks(one, none),
      () => cache.copyBlocks(one, Int32Array.of(1, 2)),
      () => cache.readBlocks(none),
      () => cache.writeBlocks(one, new Uint8Array(cache.bytesPerBlock - 1)),
      () => cache.writeBlocks(none, new Uint8Array(cache.bytesPerBlock)),
      () => cache.readLayer(2, one, 1),
      () => cache.readLayer(-1, one, 1),
      () => cache.readLayer(0, one, 17),
      () => cache.readLayer(0, none, 1),
      () => cache.readLayer(0, one, -1),
      () => cache.zeroBlocks([1] as never),
    ]) {
      await expect(attempt()).rejects.toThrow(InvalidArgumentError);
    }
  });
});
