import type { Model } from '@hearth/engine';
import { createFakeModel, type FakeBackend, hashScript } from '@hearth/engine/test';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Drafts } from './drafts.ts';

let model: Model;
let backend: FakeBackend;
let drafts: Drafts;
/** Resolves the steps that wait, and lets later ones pass. */
let letPass: () => void;

beforeEach(async () => {
  const limits = { contextLength: 256, cacheTokens: 2048, maxTokensPerStep: 16 };
  ({ model, backend } = await createFakeModel({ next: hashScript(), ...limits }));
  drafts = new Drafts(model);
});

afterEach(async () => {
  vi.useRealTimers();
  await drafts.dispose();
  await model.dispose();
});

function holdSteps(): void {
  const held = new Promise<void>((resolve) => {
    letPass = resolve;
  });
  backend.beforeStep = () => held;
}

const numbers = (from: number, count: number) => Array.from({ length: count }, (_, i) => (from + i) % 256);
const numOwned = () => model.stats().cache.numOwnedBlocks;

interface Options {
  readonly conversation?: string;
  readonly revision?: number;
  readonly cacheSalt?: string;
  readonly anchor?: number;
  readonly signal?: AbortSignal;
}

function compose(tokenIds: readonly number[], options: Options = {}) {
  const { conversation = 'c', cacheSalt = '', revision, anchor = 0, signal = new AbortController().signal } = options;
  const render = async () => ({ tokenIds, findAnchor: async () => anchor });
  return drafts.compose({ conversation, cacheSalt, revision, signal, render });
}

/** How many tokens an answer would find computed. */
async function numThere(tokenIds: readonly number[], name = { conversation: 'c', cacheSalt: '' }) {
  const fork = await drafts.fork(name, tokenIds);
  const cached = fork?.numCachedTokens;
  if (fork) expect(fork.tokenIds).toEqual(tokenIds);
  await fork?.dispose();
  return cached;
}

describe('a draft', () => {
  it('computes what it does not share with the one before, to the token', async () => {
    expect(await compose(numbers(0, 21))).toEqual({ computedTokens: 21, cachedTokens: 0 });
    expect(await compose([...numbers(0, 19), 200, 201, 202])).toEqual({ computedTokens: 3, cachedTokens: 19 });
    expect(await numThere([...numbers(0, 19), 200, 7])).toBe(20);
    expect(await numThere(numbers(100, 4))).toBe(0);
  });

  it('is superseded at once by a newer one, which starts with what was done', async () => {
    holdSteps();
    const first = compose(numbers(0, 40));
    await vi.waitFor(() => expect(backend.batches).toHaveLength(1));
    const second = compose(numbers(0, 42));
    expect(await first).toBeUndefined();
    letPass();
    expect(await second).toMatchObject({ cachedTokens: expect.any(Number) });
    expect(await numThere(numbers(0, 42))).toBe(42);
  });

  it('that comes late is not computed, and stops nothing', async () => {
    holdSteps();
    const newer = compose(numbers(0, 20), { revision: 5 });
    await vi.waitFor(() => expect(backend.batches).toHaveLength(1));
    expect(await compose(numbers(50, 20), { revision: 4 })).toBeUndefined();
    letPass();
    expect(await newer).toEqual({ computedTokens: 20, cachedTokens: 0 });
    // Once more, as clients do that have heard nothing.
    expect(await compose(numbers(0, 20), { revision: 5 })).toEqual({ computedTokens: 0, cachedTokens: 20 });
  });

  it('is stopped by the answer, and gives it what was done', async () => {
    let numSteps = 0;
    backend.beforeStep = () => (++numSteps > 2 ? new Promise(() => {}) : undefined);
    const composing = compose(numbers(0, 60));
    await vi.waitFor(() => expect(numSteps).toBe(3));
    expect(await numThere(numbers(0, 60))).toBe(32);
    expect(await composing).toBeUndefined();
  });

  it('ends with its signal, whether it is rendered, waits or computes', async () => {
    holdSteps();
    const gone = new Error('gone');
    const controllers = Array.from({ length: 4 }, () => new AbortController());
    const running = controllers.map(({ signal }, i) => compose(numbers(i, 30), { conversation: `c${i}`, signal }));
    const rendering = drafts.compose({
      conversation: 'r',
      cacheSalt: '',
      revision: undefined,
      signal: controllers[0]!.signal,
      render: () => new Promise(() => {}),
    });
    await vi.waitFor(() => expect(backend.batches).toHaveLength(1));
    for (const controller of controllers) controller.abort(gone);
    for (const composing of [...running, rendering]) await expect(composing).rejects.toBe(gone);
    letPass();
    await vi.waitFor(() => expect(model.stats().requests).toMatchObject({ numRunning: 0, numWaiting: 0 }));
    expect(await compose(numbers(0, 5), { conversation: 'c0' })).toMatchObject({ cachedTokens: expect.any(Number) });
  });

  it('fails with what its prompt fails with, and can be tried again', async () => {
    const failed = new Error('no such role');
    const render = () => Promise.reject(failed);
    const { signal } = new AbortController();
    const request = { conversation: 'c', cacheSalt: '', revision: undefined, signal, render };
    await expect(drafts.compose(request)).rejects.toBe(failed);
    expect(await compose(numbers(0, 5))).toEqual({ computedTokens: 5, cachedTokens: 0 });
  });
});

describe('the anchor', () => {
  it('is never cut off: a conversation with another beginning gets another session', async () => {
    await compose(numbers(0, 30), { anchor: 10 });
    expect(await compose([...numbers(0, 10), 99, 98], { anchor: 10 })).toEqual({ computedTokens: 2, cachedTokens: 10 });
    expect(await compose(numbers(5, 12), { anchor: 5 })).toEqual({ computedTokens: 12, cachedTokens: 0 });
    expect(numOwned()).toBe(1);
    // An answer with another beginning goes its own way.
    expect(await numThere([1, 2, 3])).toBeUndefined();
    expect(await numThere(numbers(5, 12))).toBe(12);
  });
});

describe('all drafts of a model', () => {
  it('stay apart, also by their salts', async () => {
    await compose(numbers(0, 20));
    expect(await numThere(numbers(0, 20), { conversation: 'd', cacheSalt: '' })).toBeUndefined();
    expect(await numThere(numbers(0, 20), { conversation: 'c', cacheSalt: 'x' })).toBeUndefined();
    expect(await compose(numbers(0, 20), { cacheSalt: 'x' })).toEqual({ computedTokens: 20, cachedTokens: 0 });
    expect(drafts.size).toBe(2);
  });

  it('leave places to answers: two are computed at a time', async () => {
    holdSteps();
    const all = Array.from({ length: 16 }, (_, i) => compose(numbers(16 * i, 20), { conversation: `c${i}` }));
    await vi.waitFor(() => expect(backend.batches).toHaveLength(1));
    const { numRunning, numWaiting } = model.stats().requests;
    expect(numRunning + numWaiting).toBe(2);
    const answer = model.createSession({ tokenIds: [7, 8, 9] });
    const generation = answer.generate({ temperature: 0, maxTokens: 2, ignoreEos: true });
    letPass();
    await generation.result;
    await answer.dispose();
    for (const done of await Promise.all(all)) expect(done).toEqual({ computedTokens: 20, cachedTokens: 0 });
  });

  it('are so many at most; the longest unused gives its blocks back', async () => {
    await drafts.dispose();
    drafts = new Drafts(model, { most: 2 });
    await compose(numbers(0, 20), { conversation: 'a' });
    await compose(numbers(50, 20), { conversation: 'b' });
    await numThere(numbers(0, 20), { conversation: 'a', cacheSalt: '' });
    await compose(numbers(100, 20), { conversation: 'c' });
    expect(drafts.size).toBe(2);
    expect(await numThere(numbers(50, 20), { conversation: 'b', cacheSalt: '' })).toBeUndefined();
    expect(await numThere(numbers(0, 20), { conversation: 'a', cacheSalt: '' })).toBe(20);
    expect(numOwned()).toBe(4);
  });

  it('are given up a while after their last use, and not while they are computed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    await compose(numbers(0, 20), { conversation: 'a' });
    holdSteps();
    const slow = compose(numbers(50, 20), { conversation: 'slow' });
    await vi.advanceTimersByTimeAsync(40_000);
    expect(await numThere(numbers(0, 20), { conversation: 'a', cacheSalt: '' })).toBe(20);
    await vi.advanceTimersByTimeAsync(40_000);
    expect(drafts.size).toBe(2);
    await vi.advanceTimersByTimeAsync(20_001);
    expect(drafts.size).toBe(1);
    letPass();
    expect(await slow).toEqual({ computedTokens: 20, cachedTokens: 0 });
    await vi.advanceTimersByTimeAsync(120_001);
    expect([drafts.size, numOwned(), vi.getTimerCount()]).toEqual([0, 0, 0]);
    model.checkIntegrity();
  });

  it('give up their blocks to whoever needs them, and are computed again', async () => {
    await compose(numbers(0, 100), { conversation: 'a' });
    const others = Array.from({ length: 8 }, (_, i) => {
      const session = model.createSession({ tokenIds: numbers(31 * i + 1, 250) });
      return session.prefill().then(() => session);
    });
    const sessions = await Promise.all(others);
    expect(await numThere(numbers(0, 100), { conversation: 'a', cacheSalt: '' })).toBe(0);
    await Promise.all(sessions.map((session) => session.dispose()));
    expect(await compose(numbers(0, 100), { conversation: 'a' })).toMatchObject({ computedTokens: 100 });
  });

  it('end with the model', async () => {
    holdSteps();
    const composing = compose(numbers(0, 20));
    await vi.waitFor(() => expect(backend.batches).toHaveLength(1));
    await drafts.dispose();
    expect(await composing).toBeUndefined();
    await expect(compose(numbers(0, 20))).rejects.toMatchObject({ code: 'disposed' });
    expect([drafts.size, numOwned()]).toEqual([0, 0]);
    letPass();
  });
});
