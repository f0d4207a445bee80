import { ContextLengthError } from '@hearth/core';
import { createTokenMask } from '@hearth/sampler';
import { afterEach, describe, expect, it } from 'vitest';
import { AnchorError } from '../errors.ts';
import type { GenerateEvent, Generation } from '../generate/generation.ts';
import { bytesOf, fakeTokens } from '../test/byte-codec.ts';
import { fakeHiddenSize } from '../test/fake-program.ts';
import { type FakeSessionsOptions, fakeSessions } from '../test/fake-sessions.ts';
import { hashScript, loopingScript, replyScript } from '../test/scripts.ts';
import { Session } from './session.ts';
import { checkBlockIntegrity, type SessionRuntime } from './session-runtime.ts';

const greedy = { temperature: 0 } as const;
const runtimes: SessionRuntime[] = [];

afterEach(() => {
  for (const runtime of runtimes.splice(0)) checkBlockIntegrity(runtime);
});

async function setUp(options: FakeSessionsOptions) {
  const { backend, runtime } = await fakeSessions(options);
  runtimes.push(runtime);
  return {
    backend,
    runtime,
    newSession: (tokenIds: number[], anchor = 0) => new Session(runtime, { tokenIds, anchor }),
  };
}

async function collect(generation: Generation): Promise<GenerateEvent[]> {
  const events: GenerateEvent[] = [];
  for await (const event of generation) events.push(event);
  return events;
}

/** What a run from scratch on the same tokens gives, with a cache of its own and the whole prompt in one chunk. */
async function fresh(options: FakeSessionsOptions, prompt: readonly number[], maxTokens: number) {
  const { runtime } = await fakeSessions({ ...options, maxTokensPerStep: 128 });
  return (await new Session(runtime, { tokenIds: prompt }).generate({ ...greedy, maxTokens }).result).tokenIds;
}

describe('generate', () => {
  it('streams whole characters that join to the text (B18)', async () => {
    const { newSession } = await setUp({ next: loopingScript('abc😀dé.\n') });
    const generation = newSession(bytesOf('hi\n')).generate({ ...greedy, maxTokens: 24 });
    const events = await collect(generation);
    const result = await generation.result;
    expect(result.text).toBe('abc😀dé.\nabc😀dé.\n');
    expect(events.map((event) => event.text).join('')).toBe(result.text);
    for (const event of events) expect(event.text).not.toMatch(/\p{Surrogate}|\ufffd/u);
    expect(events.map((event) => event.tokenId)).toEqual(result.tokenIds);
    expect(events.map((event) => event.index)).toEqual(events.map((_, i) => i));
    expect(result.finishReason).toBe('length');
    expect(result.usage).toEqual({ promptTokens: 3, cachedTokens: 0, completionTokens: 24 });
  });

  it.each([
    ['over several tokens', 'c😀d', 'ab', 'c😀d'],
    ['that never comes', 'c😀X', 'abc😀dé.\nabc😀dé.\n', undefined],
    ['the first of a list to be complete', ['.\nabX', '\nab'], 'abc😀dé.', '\nab'],
    ['in one character', '😀', 'abc', '😀'],
    ['at the first token', 'a', '', 'a'],
  ])('stops at a stop string %s (B38)', async (_, stop, text, stopSequence) => {
    const { newSession } = await setUp({ next: loopingScript('abc😀dé.\n') });
    const generation = newSession(bytesOf('hi\n')).generate({ ...greedy, maxTokens: 24, stop });
    const deltas = (await collect(generation)).map((event) => event.text);
    const result = await generation.result;
    expect(deltas.join('')).toBe(text);
    expect(result).toMatchObject({ text, finishReason: stopSequence === undefined ? 'length' : 'stop' });
    expect(result.stopSequence).toBe(stopSequence);
  });

  it('stops at the end token, which counts and has no text (B58)', async () => {
    const { newSession } = await setUp({ next: replyScript(2, 'ok', fakeTokens.eos) });
    const session = newSession([1, 2]);
    const result = await session.generate({ ...greedy, logprobs: 1 }).result;
    expect(result).toMatchObject({ text: 'ok', finishReason: 'stop', stopTokenId: fakeTokens.eos });
    expect(result.tokenIds).toEqual([...bytesOf('ok'), fakeTokens.eos]);
    expect(session.tokenIds).toEqual([1, 2, ...bytesOf('ok'), fakeTokens.eos]);
    expect(result.logprobs).toHaveLength(3);
    expect(result.logprobs![0]!.topLogprobs).toEqual([{ tokenId: 111, logprob: result.logprobs![0]!.logprob }]);
  });

  it('goes past the end token when told so, and stops at tokens of the caller', async () => {
    const { newSession } = await setUp({ next: replyScript(2, 'ok', fakeTokens.eos) });
    const result = await newSession([1, 2]).generate({ ...greedy, ignoreEos: true, maxTokens: 5 }).result;
    expect(result).toMatchObject({ text: 'ok', finishReason: 'length', usage: { completionTokens: 5 } });
    const stopped = await newSession([1, 2]).generate({ ...greedy, stopTokenIds: bytesOf('k') }).result;
    expect(stopped).toMatchObject({ text: 'o', finishReason: 'stop', stopTokenId: 107 });
  });

  it('has empty text for rows of the table that have no token (B24)', async () => {
    const cycle = [97, 262, 98, 99];
    const next = (context: readonly number[]) => cycle[(cycle.indexOf(context.at(-1)!) + 1) % 4]!;
    const { newSession } = await setUp({ next });
    const result = await newSession([99]).generate({ ...greedy, maxTokens: 9, logprobs: 2 }).result;
    expect(result).toMatchObject({ text: 'abcabca', usage: { completionTokens: 9 } });
    expect(result.logprobs).toHaveLength(9);
  });

  it('makes no token with maxTokens 0, but computes the prompt (B49)', async () => {
    const { newSession } = await setUp({ next: hashScript() });
    const session = newSession([1, 2, 3]);
    const generation = session.generate({ ...greedy, maxTokens: 0 });
    expect(await collect(generation)).toEqual([]);
    expect(await generation.result).toMatchObject({
      text: '',
      tokenIds: [],
      finishReason: 'length',
      usage: { promptTokens: 3, completionTokens: 0 },
      timings: { firstTokenMs: null, tokensPerSecond: null },
    });
    expect([session.length, session.numCachedTokens]).toEqual([3, 3]);
  });

  it.each([null, undefined, 1e9, 126])(
    'goes to the end of the context with maxTokens %s (B48, B49)',
    async (maxTokens) => {
      const { newSession } = await setUp({ next: hashScript() });
      const session = newSession([1, 2]);
      const result = await session.generate({ ...greedy, maxTokens }).result;
      expect(result).toMatchObject({ finishReason: 'length', usage: { completionTokens: 126 } });
      expect(session.length).toBe(128);
    },
  );

  it.each([
    { maxTokens: -1 },
    { maxTokens: 1.5 },
    { maxTokens: Number.NaN },
    { maxTokens: '5' },
    { stop: '' },
    { stop: [''] },
    { stop: 5 },
    { stopTokenIds: [999] },
    { ignoreEos: 'yes' },
    { mask: 5 },
    { logprobs: -1 },
    { logprobs: 21 },
    { temperature: -1 },
    { temprature: 1 },
  ])('refuses %j before any work', async (options) => {
    const { backend, newSession } = await setUp({ next: hashScript() });
    const session = newSession([1]);
    expect(() => session.generate(options as never)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
    await new Promise(setImmediate);
    expect([backend.batches.length, session.isBusy, session.length]).toEqual([0, false, 1]);
  });

  it('refuses an empty session, and a full one when a token is wanted (B48)', async () => {
    const { newSession } = await setUp({ next: hashScript() });
    expect(() => newSession([]).generate(greedy)).toThrow(/session is empty/);
    const full = newSession(Array.from({ length: 128 }, () => 1));
    expect(() => full.generate(greedy)).toThrow(new ContextLengthError(129, 128));
    expect((await full.generate({ maxTokens: 0 }).result).finishReason).toBe('length');
    expect(
      (await newSession(Array.from({ length: 127 }, () => 1)).generate(greedy).result).usage.completionTokens,
    ).toBe(1);
  });

  it('asks the mask before each token', async () => {
    const { newSession } = await setUp({ next: hashScript() });
    const asked: number[][] = [];
    const mask = (completion: readonly number[]) => {
      asked.push([...completion]);
      return completion.length === 1 ? undefined : createTokenMask(fakeTokens.vocabSize, [65]);
    };
    const { tokenIds } = await newSession([1]).generate({ ...greedy, maxTokens: 3, mask }).result;
    expect([tokenIds[0], tokenIds[2]]).toEqual([65, 65]);
    expect(asked).toEqual([[], tokenIds.slice(0, 1), tokenIds.slice(0, 2)]);
  });

  it('repeats itself with the seed that it reports', async () => {
    // Nearly flat logits, so that the seed decides.
    const flat = Float32Array.from({ length: fakeTokens.vocabSize }, (_, id) => (id % 7) / 10);
    const { newSession } = await setUp({ next: () => flat });
    const generate = async (seed?: bigint) => newSession([1]).generate({ maxTokens: 12, ignoreEos: true, seed }).result;
    const first = await generate();
    expect((await generate(first.seed)).tokenIds).toEqual(first.tokenIds);
    expect((await generate(first.seed + 1n)).tokenIds).not.toEqual(first.tokenIds);
  });

  it.each([0, 1e-30, 5e-324])('is greedy at temperature %s (B32)', async (temperature) => {
    const options = { next: hashScript() };
    const { newSession } = await setUp(options);
    const { tokenIds } = await newSession([1]).generate({ temperature, maxTokens: 6 }).result;
    expect(tokenIds).toEqual(await fresh(options, [1], 6));
  });

  it('measures ops when asked, and only then', async () => {
    const { backend, newSession } = await setUp({ next: hashScript() });
    const session = newSession([1]);
    expect((await session.generate({ ...greedy, maxTokens: 1 }).result).profile).toBeUndefined();
    expect(backend.profiled).toBe(0);
    const { profile } = await session.generate({ ...greedy, maxTokens: 3, profile: true }).result;
    // The fake head reads the floats of each hidden row and writes its logits; each op takes 7 ns.
    const headOf = (calls: number) => ({
      name: 'lm_head',
      kind: 'linear',
      calls,
      nanoseconds: 7 * calls,
      work: {
        weightBytes: 0,
        cacheBytes: 0,
        activationBytes: calls * 4 * (fakeHiddenSize + fakeTokens.vocabSize),
        integerOps: 0,
        floatOps: 0,
      },
    });
    expect(profile).toEqual({ prefill: [headOf(1)], decode: [headOf(2)] });
  });
});

describe('reuse of the cache', () => {
  // Lengths around one and two blocks of 16.
  it.each([1, 2, 15, 16, 17, 31, 32, 33])(
    'answers the same prompt of %i tokens again with the same tokens (B53)',
    async (n) => {
      const options = { next: hashScript() };
      const { newSession } = await setUp(options);
      const prompt = Array.from({ length: n }, (_, i) => i);
      const expected = await fresh(options, prompt, 5);
      const session = newSession(prompt);
      for (const cachedTokens of [0, n - 1, n - 1]) {
        const { tokenIds, usage } = await session.generate({ ...greedy, maxTokens: 5 }).result;
        expect(tokenIds).toEqual(expected);
        expect(usage).toEqual({ promptTokens: n, cachedTokens, completionTokens: 5 });
        session.truncate(n);
      }
      session.extend([7]);
      const longer = await session.generate({ ...greedy, maxTokens: 5 }).result;
      expect(longer.usage.cachedTokens).toBe(n);
      expect(longer.tokenIds).toEqual(await fresh(options, [...prompt, 7], 5));
      if (n === 1) return;
      session.truncate(n - 1);
      const shorter = await session.generate({ ...greedy, maxTokens: 5 }).result;
      expect(shorter.tokenIds).toEqual(await fresh(options, prompt.slice(0, n - 1), 5));
    },
  );

  it('gives the same tokens whatever the chunk', async () => {
    const prompt = Array.from({ length: 70 }, (_, i) => (i * 7) % 256);
    for (const maxTokensPerStep of [1, 7, 16, 64]) {
      const { newSession } = await setUp({ next: hashScript(), maxTokensPerStep });
      const { tokenIds } = await newSession(prompt).generate({ ...greedy, maxTokens: 6 }).result;
      expect(tokenIds).toEqual(await fresh({ next: hashScript() }, prompt, 6));
    }
  });

  it('continues a generation as if it had never stopped', async () => {
    const options = { next: hashScript(), numGroups: 2 };
    const { newSession } = await setUp(options);
    const session = newSession([5]);
    const parts = [];
    for (const maxTokens of [3, 1, 20])
      parts.push(...(await session.generate({ ...greedy, maxTokens }).result).tokenIds);
    expect(parts).toEqual(await fresh(options, [5], 24));
  });

  it('computes tokens of an idle session again when another one took its blocks', async () => {
    const options = { next: hashScript(), contextLength: 64, numBlocks: 4 };
    const { newSession } = await setUp(options);
    const first = newSession([1]);
    const begun = await first.generate({ ...greedy, maxTokens: 20 }).result;
    await newSession([2]).generate({ ...greedy, maxTokens: 50 }).result;
    expect([first.length, first.numCachedTokens]).toEqual([21, 0]);
    const { tokenIds, usage } = await first.generate({ ...greedy, maxTokens: 20 }).result;
    expect(usage.cachedTokens).toBe(0);
    expect([...begun.tokenIds, ...tokenIds]).toEqual(await fresh(options, [1], 40));
  });
});

describe('several sessions at once', () => {
  it.each([1, 2, 3, 5, 8])('gives each of %i its solo tokens (B36)', async (n) => {
    const options = { next: hashScript(), contextLength: 512 };
    const { newSession } = await setUp(options);
    const prompts = Array.from({ length: n }, (_, i) => Array.from({ length: 3 + 9 * (i % 3) }, (_, j) => j + (i % 3)));
    const results = await Promise.all(
      prompts.map((prompt) => newSession(prompt).generate({ ...greedy, maxTokens: 10 }).result),
    );
    for (const [i, { tokenIds }] of results.entries()) expect(tokenIds).toEqual(await fresh(options, prompts[i]!, 10));
  });

  it('gives each its solo tokens though the cache holds only one of them', async () => {
    const options = { next: hashScript(), contextLength: 64, numBlocks: 4, numGroups: 1 };
    const { backend, runtime, newSession } = await setUp(options);
    backend.beforeStep = () => checkBlockIntegrity(runtime);
    const prompts = [1, 2, 3, 4, 5].map((n) => Array.from({ length: 7 * n }, (_, i) => i + n));
    const results = await Promise.all(
      prompts.map((prompt) => newSession(prompt).generate({ ...greedy, maxTokens: 25 }).result),
    );
    for (const [i, { tokenIds, usage }] of results.entries()) {
      expect(tokenIds).toEqual(await fresh(options, prompts[i]!, 25));
      expect(usage.promptTokens).toBe(prompts[i]!.length);
    }
    // Some of them had to begin again, or this has shown nothing.
    const numComputed = backend.batches.reduce((sum, batch) => sum + batch.tokenIds.length, 0);
    expect(numComputed).toBeGreaterThan(prompts.flat().length + 5 * 24);
  });

  it('gives the logits of a forward that lost its blocks on the way', async () => {
    const options = { next: hashScript(), contextLength: 64, numBlocks: 4 };
    const { backend, newSession } = await setUp(options);
    const ids = Array.from({ length: 44 }, (_, i) => i);
    const expected = await newSession([9]).forward(ids);
    backend.batches.length = 0;
    // Needs its second block of the four while the other one needs its third.
    const older = newSession(Array.from({ length: 15 }, () => 1)).generate({ ...greedy, maxTokens: 10 });
    const got = await newSession([9]).forward(ids);
    await older.result;
    expect(got).toEqual(expected);
    expect(backend.batches.reduce((sum, batch) => sum + batch.tokenIds.length, 0)).toBeGreaterThan(24 + 45);
  });

  it('lets a session that waits for blocks be cancelled and disposed', async () => {
    const { newSession } = await setUp({ next: hashScript(), contextLength: 64, numBlocks: 4 });
    const older = newSession(Array.from({ length: 50 }, () => 1)).generate({ ...greedy, maxTokens: 10 });
    const waiting = newSession(Array.from({ length: 40 }, () => 1));
    const generation = waiting.generate({ ...greedy, maxTokens: 1 });
    for await (const event of older) if (event.index === 2) break;
    await generation.result;
    const [a, b] = [newSession(Array.from({ length: 50 }, () => 1)), waiting];
    const first = a.generate({ ...greedy, maxTokens: 10 });
    const second = b.generate({ ...greedy, maxTokens: 20 });
    const disposed = expect(second.result).rejects.toMatchObject({ code: 'disposed' });
    for await (const event of first) if (event.index === 5) await b.dispose();
    await disposed;
  });

  it('lets a short answer through while a long prompt is computed', async () => {
    const { newSession } = await setUp({ next: hashScript(), contextLength: 1024, maxTokensPerStep: 8 });
    const long = newSession(Array.from({ length: 800 }, () => 1)).generate({ ...greedy, maxTokens: 1 });
    let longIsDone = false;
    long.result.then(() => {
      longIsDone = true;
    });
    await newSession([2]).generate({ ...greedy, maxTokens: 5 }).result;
    expect(longIsDone).toBe(false);
    await long.cancel();
  });
});

describe('prefill', () => {
  it('tells what it has computed and what was there, also of other sessions', async () => {
    const { newSession } = await setUp({ next: hashScript() });
    const tokenIds = Array.from({ length: 20 }, (_, i) => i);
    const session = newSession(tokenIds);
    expect(await session.prefill()).toEqual({ computedTokens: 20, cachedTokens: 0 });
    expect(await session.prefill()).toEqual({ computedTokens: 0, cachedTokens: 20 });
    session.replaceTokens([...tokenIds.slice(0, 18), 90, 91, 92]);
    expect(await session.prefill()).toEqual({ computedTokens: 3, cachedTokens: 18 });
    // One block.
    expect(await newSession(tokenIds).prefill()).toEqual({ computedTokens: 4, cachedTokens: 16 });
  });

  it('of low priority leaves the steps to others until they have their prompts', async () => {
    const { backend, newSession } = await setUp({ next: hashScript(), maxTokensPerStep: 8 });
    const low = newSession(Array.from({ length: 40 }, () => 1)).prefill({ priority: -1 });
    const high = newSession(Array.from({ length: 24 }, () => 2)).prefill();
    await Promise.all([low, high]);
    const numbers = backend.batches.map(({ tokenIds }) => [...tokenIds].filter((id) => id === 2).length);
    expect(numbers).toEqual([8, 8, 8, 0, 0, 0, 0, 0]);
  });

  it.each([
    [{ priority: Number.NaN }, 'priority'],
    [{ timeoutMs: 0 }, 'timeoutMs'],
  ])('refuses %s', async (options, field) => {
    const { newSession } = await setUp({ next: hashScript() });
    const session = newSession([1]);
    await expect(session.prefill(options)).rejects.toMatchObject({ code: 'invalid_argument', details: { field } });
    expect(session.isBusy).toBe(false);
  });
});

describe('extend and truncate', () => {
  it('refuses what does not fit, with both numbers, and changes nothing (B48)', async () => {
    const { newSession } = await setUp({ next: hashScript() });
    const session = newSession(Array.from({ length: 120 }, () => 1));
    session.extend([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(() => session.extend([1])).toThrow(new ContextLengthError(129, 128));
    expect(session.length).toBe(128);
    expect(() => newSession(Array.from({ length: 5000 }, () => 1))).toThrow(new ContextLengthError(5000, 128));
  });

  it.each([[-1], [264], [1.5], [Number.NaN], ['1' as unknown as number]])('refuses token id %s', async (id) => {
    const { newSession } = await setUp({ next: hashScript() });
    const session = newSession([1]);
    expect(() => session.extend([5, id])).toThrow(/from 0 to 263, got .* at place 1/);
    expect(session.length).toBe(1);
  });

  it('never cuts below the anchor', async () => {
    const { newSession } = await setUp({ next: hashScript() });
    const session = newSession([1, 2, 3, 4], 3);
    expect(() => session.truncate(2)).toThrow(new AnchorError(2, 3));
    session.truncate(3);
    expect(session.tokenIds).toEqual([1, 2, 3]);
    for (const length of [4, -1, 2.5]) expect(() => session.truncate(length)).toThrow(/cannot be cut back to/);
    expect(() => newSession([1], 2)).toThrow(/anchor must be/);
    const { runtime } = await fakeSessions({ next: hashScript() });
    for (const cacheSalt of ['x'.repeat(1025), 7 as unknown as string]) {
      expect(() => new Session(runtime, { cacheSalt })).toThrow(/cacheSalt must be a string of at most 1024/);
    }
  });

  it('gives blocks back', async () => {
    const { runtime, newSession } = await setUp({ next: hashScript() });
    const session = newSession(Array.from({ length: 40 }, () => 1));
    await session.prefill();
    expect(runtime.pool.numFreeBlocks).toBe(5);
    session.truncate(16);
    // The second one was full, so it is kept for others as long as there is room.
    expect([runtime.pool.numFreeBlocks, runtime.pool.numCachedBlocks]).toEqual([6, 1]);
    await session.dispose();
    expect([runtime.pool.numFreeBlocks, runtime.pool.numCachedBlocks]).toEqual([6, 2]);
  });

  it('copies token ids out', async () => {
    const { newSession } = await setUp({ next: hashScript() });
    const session = newSession([1]);
    (session.tokenIds as number[]).push(2);
    expect(session.tokenIds).toEqual([1]);
  });
});
