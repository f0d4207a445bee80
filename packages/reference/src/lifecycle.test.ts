import { AbortError, type CompileOptions, DisposedError, InvalidArgumentError } from '@hearth/core';
import { buildModel } from '@hearth/models';
import { describe, expect, it } from 'vitest';
import { makeBatch, prefill, someTokens } from './__fixtures__/batches.ts';
import { randomSources, tinyLlama, tinyLlamaConfig } from './__fixtures__/tiny-llama.ts';
import { createReferenceBackend } from './reference-backend.ts';

const options: CompileOptions = {
  maxTokens: 16,
  maxOutputRows: 4,
  cache: { dtype: 'f16', blockSize: 16, numBlocks: 4 },
};

async function loaded() {
  const model = await buildModel(tinyLlamaConfig);
  const backend = createReferenceBackend();
  const weights = await backend.loadWeights(model.weights, randomSources(model));
  return { model, backend, weights };
}

describe('one step at a time', () => {
  it('refuses a second step while one runs, which goes on', async () => {
    const executable = await tinyLlama();
    const first = prefill(executable, someTokens(100));
    await expect(prefill(executable, [1])).rejects.toThrow(/Another step is running/);
    expect((await first).logits).toHaveLength(96);
    await expect(prefill(executable, [1])).resolves.toBeDefined();
  });
});

describe('abort', () => {
  it('rejects a step whose signal has fired', async () => {
    const signal = AbortSignal.abort('enough');
    const step = prefill(await tinyLlama(), [1, 2], { signal });
    await expect(step).rejects.toThrow(AbortError);
    await expect(step).rejects.toMatchObject({ cause: 'enough' });
  });

  it('stops in the middle of a step, lets timers run meanwhile, and can step again', async () => {
    const executable = await tinyLlama();
    const controller = new AbortController();
    const tokens = someTokens(256);
    let timers = 0;
    const interval = setInterval(() => {
      timers++;
      if (timers === 3) controller.abort();
    }, 1);
    // Repeated until the third timer fires within a step: one step takes long enough for that on any machine but an endless one.
    const run = async () => {
      for (;;) await prefill(executable, tokens, { signal: controller.signal });
    };
    await expect(run()).rejects.toThrow(AbortError);
    clearInterval(interval);
    expect(timers).toBeGreaterThanOrEqual(3);
    await expect(prefill(executable, [1])).resolves.toBeDefined();
  });
});

describe('dispose', () => {
  it('waits for the running step, and a later step is refused', async () => {
    const executable = await tinyLlama();
    const step = prefill(executable, someTokens(100));
    const [{ logits }] = await Promise.all([step, executable.dispose()]);
    expect(logits).toEqual((await prefill(await tinyLlama(), someTokens(100))).logits);
    await expect(prefill(executable, [1])).rejects.toThrow(DisposedError);
    await expect(executable.dispose()).resolves.toBeUndefined();
  });

  it('asks for executables, then weights, then the backend', async () => {
    const { model, backend, weights } = await loaded();
    const executable = await backend.compile(model.createProgram(), weights, options);
    await expect(weights.dispose()).rejects.toThrow(/1 executables. Dispose the executables first/);
    await expect(backend.dispose()).rejects.toThrow(InvalidArgumentError);
    await executable.dispose();
    await weights.dispose();
    await weights.dispose();
    await backend.dispose();
    await backend.dispose();
    await expect(backend.compile(model.createProgram(), weights, options)).rejects.toThrow(DisposedError);
    await expect(backend.loadWeights([], new Map())).rejects.toThrow(DisposedError);
  });

  it('refuses weights that were disposed or belong to another backend', async () => {
    const { model, backend, weights } = await loaded();
    await weights.dispose();
    await expect(backend.compile(model.createProgram(), weights, options)).rejects.toThrow(DisposedError);
    const foreign = { packedBytes: 0, sourceBytes: 0, dispose: async () => {} };
    await expect(backend.compile(model.createProgram(), foreign, options)).rejects.toThrow(/another backend/);
  });
});

describe('compile', () => {
  it('refuses an embedding table with a column order, which only a linear can undo', async () => {
    const columnOrder = Uint32Array.from({ length: tinyLlamaConfig.hidden_size }, (_, i) => i ^ 1);
    const loading = tinyLlama({
      dtype: 'q4_0',
      edit: (sources) => {
        const name = 'model.embed_tokens.weight';
        sources.set(name, { ...sources.get(name)!, columnOrder });
      },
    });
    await expect(loading).rejects.toThrow(InvalidArgumentError);
    await expect(loading).rejects.toThrow(/embed_tokens\.weight, whose columns are in another order/);
  });

  it.each<[string, Partial<CompileOptions>, RegExp]>([
    ['no tokens', { maxTokens: 0 }, /maxTokens/],
    ['a fraction of a token', { maxTokens: 1.5 }, /maxTokens/],
    ['no output rows', { maxOutputRows: 0 }, /maxOutputRows/],
    ['no blocks', { cache: { ...options.cache, numBlocks: 0 } }, /numBlocks/],
    ['blocks of 24', { cache: { ...options.cache, blockSize: 24 } }, /blockSize must be 16, 32 or 64, got 24/],
    [
      'another cache type',
      { cache: { ...options.cache, dtype: 'q4' as 'q8' } },
      /dtype must be one of f32, f16, q8, got q4/,
    ],
    ['more memory than there is', { cache: { ...options.cache, numBlocks: 2 ** 40 } }, /too large to allocate/],
  ])('refuses %s', async (_, change, message) => {
    const { model, backend, weights } = await loaded();
    const compile = () => backend.compile(model.createProgram(), weights, { ...options, ...change });
    await expect(compile()).rejects.toThrow(InvalidArgumentError);
    await expect(compile()).rejects.toThrow(message);
    // Nothing was left behind that would keep the weights from being disposed.
    await weights.dispose();
  });

  it('refuses programs that are broken, or read other weights', async () => {
    const { model, backend, weights } = await loaded();
    const program = model.createProgram();
    const broken = { ...program, buffers: program.buffers.map((buffer) => ({ ...buffer, offset: 0 })) };
    await expect(backend.compile(broken, weights, options)).rejects.toThrow(/Invalid program/);
    const other = await buildModel({ ...tinyLlamaConfig, num_hidden_layers: 3 });
    await expect(backend.compile(other.createProgram(), weights, options)).rejects.toThrow(/layers\.2\..*do not have/);
    const wider = await buildModel({ ...tinyLlamaConfig, intermediate_size: 128 });
    await expect(backend.compile(wider.createProgram(), weights, options)).rejects.toThrow(/as \[128,64\].*\[96,64\]/);
  });

  it('holds batches to its limits', async () => {
    const { model, backend, weights } = await loaded();
    const executable = await backend.compile(model.createProgram(), weights, options);
    const tooLong = makeBatch([{ tokenIds: someTokens(17), start: 0, blocks: [0, 1] }]);
    await expect(executable.step(tooLong)).rejects.toThrow(/17 tokens, allowed are 1 to 16/);
    const noBlock = makeBatch([{ tokenIds: [1], start: 0, blocks: [4] }]);
    await expect(executable.step(noBlock)).rejects.toThrow(/block 4/);
  });
});
