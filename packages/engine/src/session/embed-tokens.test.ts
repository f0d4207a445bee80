import { AbortError, NumericError } from '@hearth/core';
import { afterEach, describe, expect, it } from 'vitest';
import type { GenerateOptions } from '../generate/generate-options.ts';
import type { Model } from '../model/model.ts';
import { bytesOf, fakeTokens } from '../test/byte-codec.ts';
import type { FakeBackend } from '../test/fake-backend.ts';
import { createFakeModel } from '../test/fake-model.ts';
import { hashScript } from '../test/scripts.ts';
import type { CreateSessionOptions } from './session.ts';

const greedy = { temperature: 0, ignoreEos: true } as const;
const text = bytesOf('the mean of all positions');
const created: Model[] = [];

async function setUp(options: Partial<Parameters<typeof createFakeModel>[0]> = {}) {
  const fake = await createFakeModel({ next: hashScript(), ...options });
  created.push(fake.model);
  return fake;
}

afterEach(async () => {
  for (const model of created.splice(0)) {
    if (!model.isDisposed) {
      model.checkIntegrity();
      expect(model.stats().requests).toMatchObject({ numRunning: 0, numWaiting: 0 });
      const { numFreeBlocks, numCachedBlocks, numBlocks } = model.stats().cache;
      expect(numFreeBlocks + numCachedBlocks).toBe(numBlocks);
    }
    await model.dispose();
  }
});

/** The mean of what the backend gives for each position, of length 1. */
function expected(backend: FakeBackend, tokenIds: readonly number[]): Float32Array {
  const rows = tokenIds.map((_, i) => backend.hidden(tokenIds.slice(0, i + 1)));
  const means = Array.from(rows[0]!, (_, j) => rows.reduce((sum, row) => sum + row[j]!, 0) / rows.length);
  const length = Math.sqrt(means.reduce((sum, mean) => sum + mean * mean, 0));
  return Float32Array.from(means, (mean) => mean / length);
}

async function generate(model: Model, session: CreateSessionOptions, options: GenerateOptions) {
  const created = model.createSession(session);
  try {
    return await created.generate({ ...greedy, ...options }).result;
  } finally {
    await created.dispose();
  }
}

/** Makes the next step wait until it is aborted. */
function holdSteps(backend: FakeBackend): Promise<void> {
  return new Promise((resolve) => {
    backend.beforeStep = () => {
      resolve();
      return new Promise(() => {});
    };
  });
}

describe('embed', () => {
  it('is the mean of the hidden rows of all positions, of length 1', async () => {
    const { model, backend } = await setUp();
    const embedding = await model.embed(text);
    expect(embedding).toHaveLength(model.info.hiddenSize);
    expect(embedding).toEqual(expected(backend, text));
    expect(Math.hypot(...embedding)).toBeCloseTo(1, 6);
    expect(await model.embed(Int32Array.of(7))).toEqual(expected(backend, [7]));
  });

  it('has the same bits in chunks of any size, in a small cache, and beside generations that stay the same', async () => {
    const { model: alone, backend } = await setUp();
    const answer = async (model: Model, id: number) =>
      (await generate(model, { tokenIds: [id] }, { maxTokens: 20 })).tokenIds;
    const answers = await Promise.all([1, 2, 3].map((id) => answer(alone, id)));
    for (const maxTokensPerStep of [4, 5, 16, 64]) {
      const { model, backend: other } = await setUp({ maxTokensPerStep, cacheTokens: 64, contextLength: 64 });
      const texts = [text, text.slice(0, 16), text.toReversed(), text];
      const [embeddings, results] = await Promise.all([
        Promise.all(texts.map((tokenIds) => model.embed(tokenIds))),
        Promise.all([1, 2, 3].map((id) => answer(model, id))),
      ]);
      expect(embeddings).toEqual(texts.map((tokenIds) => expected(backend, tokenIds)));
      expect(results).toEqual(answers);
      // Rows of both kinds were in one step.
      expect(other.batches.some(({ contextLens, outputRows }) => contextLens.length > 1 && outputRows.length > 1)).toBe(
        true,
      );
    }
  });

  it('computes every row, also of a text that is in the prefix cache, and leaves the text there for others', async () => {
    const { model, backend } = await setUp();
    const prompt = [...text, ...text].slice(0, 40);
    const first = await model.embed(prompt);
    const before = backend.batches.length;
    expect(await model.embed(prompt)).toEqual(first);
    const rows = backend.batches.slice(before).reduce((sum, { outputRows }) => sum + outputRows.length, 0);
    expect(rows).toBe(40);
    const { usage } = await generate(model, { tokenIds: prompt }, { maxTokens: 1 });
    expect(usage.cachedTokens).toBe(32);
    const secret = await generate(model, { tokenIds: prompt, cacheSalt: 'x' }, { maxTokens: 1 });
    expect(secret.usage.cachedTokens).toBe(0);
  });

  it('gives its turn and its blocks to requests of higher priority, and is right all the same', async () => {
    const { model, backend } = await setUp({ contextLength: 64, cacheTokens: 64 });
    const long = Array.from({ length: 60 }, (_, i) => i);
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    backend.beforeStep = () => begin();
    const embedding = model.embed(long, { priority: -1 });
    await begun;
    const { tokenIds } = await generate(model, { tokenIds: long.slice(5, 45) }, { maxTokens: 20 });
    expect(tokenIds).toHaveLength(20);
    expect(await embedding).toEqual(expected(backend, long));
    expect(model.stats().requests.numPreemptions).toBeGreaterThan(0);
  });

  it('refuses what makes no sense, by code', async () => {
    const { model } = await setUp({ contextLength: 32 });
    const codes: [Promise<unknown>, string][] = [
      [model.embed([]), 'invalid_argument'],
      [model.embed(null as never), 'invalid_argument'],
      [model.embed([1, fakeTokens.vocabSize]), 'invalid_argument'],
      [model.embed([0.5]), 'invalid_argument'],
      [model.embed([1], { priority: Number.NaN }), 'invalid_argument'],
      [model.embed([1], { timeoutMs: 0 }), 'invalid_argument'],
      [model.embed([1], { signal: 'no' as never }), 'invalid_argument'],
      [model.embed([1], { cacheSalt: 5 as never }), 'invalid_argument'],
      [model.embed(Array.from({ length: 33 }, () => 1)), 'context_length_exceeded'],
    ];
    for (const [embedding, code] of codes) await expect(embedding).rejects.toMatchObject({ code });
    expect(await model.embed(Array.from({ length: 32 }, () => 1))).toHaveLength(model.info.hiddenSize);
  });

  it('is refused when the cache is too small for it, and when too many wait', async () => {
    const { model } = await setUp({ contextLength: 64, cacheTokens: 32 });
    await expect(model.embed(Array.from({ length: 33 }, () => 1))).rejects.toMatchObject({ code: 'cache_exhausted' });
    const queue = await setUp({ maxQueued: 1 });
    // Four run and one waits.
    const held = Promise.all([1, 2, 3, 4, 5].map((id) => queue.model.embed([id, id])));
    await expect(queue.model.embed([6])).rejects.toMatchObject({ code: 'queue_full' });
    expect(await held).toHaveLength(5);
  });

  it('ends by its signal, its deadline, a failed step and the end of the model, and leaves no block behind', async () => {
    const { model, backend } = await setUp();
    await expect(model.embed(text, { signal: AbortSignal.abort() })).rejects.toThrow(AbortError);
    const controller = new AbortController();
    let reached = holdSteps(backend);
    const aborted = model.embed(text, { signal: controller.signal });
    await reached;
    controller.abort();
    await expect(aborted).rejects.toThrow(AbortError);
    await expect(model.embed(text, { timeoutMs: 5 })).rejects.toMatchObject({ code: 'deadline' });
    backend.beforeStep = () => {
      throw new NumericError('norm', 'norm produced NaN.');
    };
    await expect(model.embed(text)).rejects.toThrow(NumericError);
    backend.beforeStep = undefined;
    expect(await model.embed(text)).toEqual(expected(backend, text));
    expect(model.stats().cache.numFreeBlocks + model.stats().cache.numCachedBlocks).toBe(model.stats().cache.numBlocks);

    reached = holdSteps(backend);
    const [running, waiting] = [model.embed(text), model.embed(text.toReversed())];
    const outcomes = Promise.allSettled([running, waiting]);
    await reached;
    await model.dispose();
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'disposed', details: { what: 'model' } } });
    }
    await expect(model.embed(text)).rejects.toMatchObject({ code: 'disposed' });
  });
});
