import { type Batch, NumericError } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { GenerateOptions } from '../generate/generate-options.ts';
import type { GenerateResult } from '../generate/generation.ts';
import { Session } from '../session/session.ts';
import { checkBlockIntegrity } from '../session/session-runtime.ts';
import { type FakeSessionsOptions, fakeSessions } from '../test/fake-sessions.ts';
import { hashScript } from '../test/scripts.ts';

const greedy = { temperature: 0 } as const;
const kinds = ['simple', 'overlapped'] as const;

async function setUp(options: Partial<FakeSessionsOptions> = {}) {
  const { backend, runtime } = await fakeSessions({ next: hashScript(), contextLength: 256, ...options });
  const newSession = (tokenIds: number[]) => new Session(runtime, { tokenIds });
  return { backend, runtime, newSession };
}

/** Makes the next step wait until it is let go, or aborted. */
function holdNextStep(backend: { beforeStep: ((batch: Batch) => unknown) | undefined }) {
  let letGo = () => {};
  let reach = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  backend.beforeStep = () => {
    backend.beforeStep = undefined;
    reach();
    return new Promise<void>((resolve) => {
      letGo = resolve;
    });
  };
  return { reached, letGo: () => letGo() };
}

const tokensOf = ({ tokenIds }: GenerateResult) => tokenIds;
const prompt = (length: number, first = 1) => Array.from({ length }, (_, i) => (first * 31 + i * 7) % 256);

describe.each(kinds)('the %s loop', (loop) => {
  it('runs all sequences in one step, tokens of answers and chunks of prompts side by side', async () => {
    const { backend, newSession } = await setUp({ loop, maxTokensPerStep: 16 });
    const results = [3, 20, 5].map(
      (length, i) => newSession(prompt(length, i)).generate({ ...greedy, maxTokens: 4 }).result,
    );
    await Promise.all(results);
    const shapes = backend.batches.map(({ cuSeqlensQ }) =>
      Array.from({ length: cuSeqlensQ.length - 1 }, (_, s) => cuSeqlensQ[s + 1]! - cuSeqlensQ[s]!),
    );
    expect(shapes).toEqual([[3, 8, 5], [1, 12, 1], [1, 1, 1], [1, 1, 1], [1]]);
  });

  it('gives timers a turn between steps though the backend answers at once', async () => {
    const { backend, newSession } = await setUp({ loop });
    let stepsBeforeImmediate = Number.NaN;
    setImmediate(() => {
      stepsBeforeImmediate = backend.batches.length;
    });
    await newSession([1]).generate({ ...greedy, maxTokens: 6 }).result;
    expect(stepsBeforeImmediate).toBeLessThan(3);
  });

  it('never misses a task, at whatever moment it comes', async () => {
    // From none to some turns of the microtask queue after the one before it was done, when a step took its time.
    const { backend, runtime, newSession } = await setUp({ loop });
    backend.beforeStep = () => new Promise((resolve) => setTimeout(resolve, 1));
    for (let turns = 0; turns < 30; turns++) {
      await newSession(prompt(5, turns)).prefill();
      for (let i = 0; i < turns; i++) await null;
    }
    expect(runtime.scheduler.hasWork).toBe(false);
  });

  it('tells the guilty sequence that a number is not finite, and nobody else notices', async () => {
    const { backend, runtime, newSession } = await setUp({ loop, maxTokensPerStep: 64, maxOutputRows: 8 });
    backend.beforeStep = ({ tokenIds }) => {
      if (tokenIds.includes(255)) throw new NumericError('lm_head', 'lm_head produced NaN.');
    };
    const prompts = [[1, 2], [3], [255, 4], [5, 6, 7], [8]];
    const outcomes = await Promise.allSettled(
      prompts.map((tokenIds) => newSession(tokenIds).generate({ ...greedy, maxTokens: 5, ignoreEos: true }).result),
    );
    const alone = await setUp();
    for (const [i, outcome] of outcomes.entries()) {
      if (i === 2) {
        expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'numeric', op: 'lm_head' } });
      } else {
        const solo = await alone.newSession(prompts[i]!).generate({ ...greedy, maxTokens: 5, ignoreEos: true }).result;
        expect(outcome).toMatchObject({ status: 'fulfilled', value: { tokenIds: solo.tokenIds } });
      }
    }
    checkBlockIntegrity(runtime);
  });

  it.each([
    ['throws', undefined],
    ['throws nothing', undefined],
    ['is too short', new Uint32Array(1)],
    ['is no mask', 'abc'],
    ['is a promise', Promise.resolve()],
  ])('fails the one whose mask %s, and nobody else', async (what, bad) => {
    for (const canSampleInStep of [false, true]) {
      const { newSession } = await setUp({ loop, canSampleInStep });
      const mask = (tokenIds: readonly number[]) => {
        if (tokenIds.length < 2) return undefined;
        if (what === 'throws') throw new Error('grammar');
        if (what === 'throws nothing') throw undefined;
        return bad as never;
      };
      const [culprit, other] = await Promise.allSettled([
        newSession([1]).generate({ ...greedy, maxTokens: 5, ignoreEos: true, mask }).result,
        newSession([2]).generate({ ...greedy, maxTokens: 5, ignoreEos: true }).result,
      ]);
      expect(culprit.status).toBe('rejected');
      expect(other).toMatchObject({ status: 'fulfilled', value: { usage: { completionTokens: 5 } } });
    }
  });

  it('keeps to each mask though all are written into the same array', async () => {
    for (const canSampleInStep of [false, true]) {
      const { newSession } = await setUp({ loop, canSampleInStep });
      const shared = new Uint32Array(16);
      const only = (tokenId: number) => () => {
        shared.fill(0);
        shared[tokenId >>> 5] = 1 << (tokenId & 31);
        return shared;
      };
      const results = await Promise.all(
        [11, 101].map((id) => newSession([id]).generate({ ...greedy, maxTokens: 4, mask: only(id) }).result),
      );
      expect(results.map(tokensOf)).toEqual([
        [11, 11, 11, 11],
        [101, 101, 101, 101],
      ]);
    }
  });

  it('computes equal prompts that come together once, and counts what each was spared', async () => {
    const { backend, newSession } = await setUp({ loop, maxTokensPerStep: 64 });
    const options = { ...greedy, maxTokens: 1 };
    const results = await Promise.all([1, 2, 3, 4].map(() => newSession(prompt(40)).generate(options).result));
    expect(results.map(({ usage }) => usage.cachedTokens)).toEqual([0, 32, 32, 32]);
    expect(backend.batches.reduce((sum, batch) => sum + batch.tokenIds.length, 0)).toBe(40 + 3 * 8);
  });

  it('takes one signal for many requests, and refuses what is none', async () => {
    const warnings: Error[] = [];
    const listen = (warning: Error) => warnings.push(warning);
    process.on('warning', listen);
    const { newSession } = await setUp({ loop });
    const { signal } = new AbortController();
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => newSession([i]).generate({ ...greedy, maxTokens: 2, signal }).result),
    );
    const session = newSession([1]);
    for (const wrong of [{ aborted: true }, {}, 5]) {
      expect(() => session.generate({ ...greedy, signal: wrong as never })).toThrow(/signal must be an AbortSignal/);
    }
    expect(session.isBusy).toBe(false);
    await new Promise(setImmediate);
    process.off('warning', listen);
    expect(warnings).toEqual([]);
  });

  it('computes a prompt that is in the prefix cache already', async () => {
    const { backend, newSession } = await setUp({ loop });
    await newSession(prompt(32)).prefill();
    backend.batches.length = 0;
    const again = newSession(prompt(32));
    await again.prefill();
    expect([again.numCachedTokens, backend.batches.length]).toEqual([32, 0]);
    const nothing = await newSession(prompt(32)).generate({ ...greedy, maxTokens: 0 }).result;
    expect([nothing.usage.cachedTokens, backend.batches.length]).toEqual([31, 0]);
  });

  it('ends a step that runs for nobody, and no other', async () => {
    const { backend, newSession } = await setUp({ loop });
    let wasAborted = 0;
    backend.onStepAbort = () => wasAborted++;
    const [a, b] = [new AbortController(), new AbortController()];
    const hold = holdNextStep(backend);
    const first = newSession([1]).generate({ ...greedy, maxTokens: 5, signal: a.signal }).result;
    const second = newSession([2]).generate({ ...greedy, maxTokens: 5, signal: b.signal }).result;
    await hold.reached;
    a.abort();
    await expect(first).rejects.toMatchObject({ code: 'aborted' });
    expect(wasAborted).toBe(0);
    b.abort();
    await expect(second).rejects.toMatchObject({ code: 'aborted' });
    expect(wasAborted).toBe(1);
  });

  it.each(['queue', 'prefill', 'decode'])('frees the blocks of a cancelled answer at once: %s', async (phase) => {
    const { backend, runtime, newSession } = await setUp({ loop, maxSequences: 2 });
    const others = [1, 2].map((n) => newSession([n]).generate({ ...greedy, maxTokens: 30, ignoreEos: true }));
    const session = newSession(prompt(60));
    if (phase !== 'queue') await others[0]!.cancel();
    const generation = session.generate({ ...greedy, maxTokens: 100, ignoreEos: true });
    const until = { queue: 0, prefill: 20, decode: 65 }[phase]!;
    while (session.numCachedTokens < until) await new Promise(setImmediate);
    const hold = holdNextStep(backend);
    await hold.reached;
    const { numOwnedBlocks } = runtime.pool;
    const held = Math.ceil(session.numCachedTokens / 16);
    // Gone while the step that it is in still runs.
    await session.dispose();
    await expect(generation.result).rejects.toMatchObject({ code: 'disposed' });
    expect(runtime.pool.numOwnedBlocks).toBeLessThanOrEqual(numOwnedBlocks - held);
    checkBlockIntegrity(runtime);
    hold.letGo();
    await others[1]!.result;
    await runtime.loop.idle();
    checkBlockIntegrity(runtime);
  });

  it('ends a request at its deadline, in the queue and at work', async () => {
    const { newSession } = await setUp({ loop, maxSequences: 1, contextLength: 4096, numBlocks: 256 });
    const endless = { ...greedy, ignoreEos: true, timeoutMs: 30 };
    const [working, waiting] = [newSession([1]).generate(endless), newSession([2]).generate(endless)];
    await expect(working.result).rejects.toMatchObject({ code: 'deadline' });
    await expect(waiting.result).rejects.toMatchObject({ code: 'deadline', details: { timeoutMs: 30 } });
  });

  it('refuses at once when too many wait, and the session stays usable', async () => {
    const { newSession } = await setUp({ loop, maxSequences: 1, maxQueued: 1 });
    const sessions = [1, 2, 3].map((n) => newSession([n]));
    const accepted = sessions.slice(0, 2).map((session) => session.generate({ ...greedy, maxTokens: 2 }).result);
    expect(() => sessions[2]!.generate({ ...greedy, maxTokens: 2 })).toThrow(
      expect.objectContaining({ code: 'queue_full' }),
    );
    await expect(sessions[2]!.prefill()).rejects.toMatchObject({ code: 'queue_full' });
    await Promise.all(accepted);
    expect((await sessions[2]!.generate({ ...greedy, maxTokens: 2 }).result).tokenIds).toHaveLength(2);
  });

  it('lets the urgent go first', async () => {
    const { newSession } = await setUp({ loop, maxSequences: 1 });
    const ended: number[] = [];
    const priorities = [0, 0, 5, 1];
    await Promise.all(
      priorities.map(async (priority, i) => {
        await newSession([i]).generate({ ...greedy, maxTokens: 3, priority }).result;
        ended.push(i);
      }),
    );
    expect(ended).toEqual([2, 3, 0, 1]);
  });

  it('refuses a request that would not fit alone, and runs what just fits', async () => {
    const { newSession } = await setUp({ loop, numBlocks: 2 });
    expect(() => newSession(prompt(20)).generate({ ...greedy, maxTokens: 14 })).toThrow(
      expect.objectContaining({ code: 'cache_exhausted' }),
    );
    const fits = await newSession(prompt(20)).generate({ ...greedy, maxTokens: 13, ignoreEos: true }).result;
    expect(fits.tokenIds).toHaveLength(13);
    const unlimited = await newSession(prompt(20)).generate({ ...greedy, ignoreEos: true }).result;
    expect(unlimited).toMatchObject({ finishReason: 'length', usage: { completionTokens: 13 } });
    await expect(newSession(prompt(33)).prefill()).rejects.toMatchObject({ code: 'cache_exhausted' });
  });

  it('gives running answers a token in every step while a long prompt is read (B64)', async () => {
    const { backend, newSession } = await setUp({ loop, contextLength: 4352, numBlocks: 400, maxTokensPerStep: 64 });
    const running = [1, 2, 3].map((n) => newSession([n]).generate({ ...greedy, maxTokens: 90, ignoreEos: true }));
    for await (const event of running[2]!) if (event.index === 2) break;
    backend.batches.length = 0;
    await newSession(prompt(4000)).generate({ ...greedy, maxTokens: 1 }).result;
    const withPrompt = backend.batches.filter(({ cuSeqlensQ }) => cuSeqlensQ.length > 1);
    expect(withPrompt.length).toBeGreaterThan(60);
    for (const batch of backend.batches.slice(0, 60)) expect(batch.cuSeqlensQ.length - 1).toBe(3);
    await Promise.all(running.map((generation) => generation.cancel()));
  });
});

describe('both loops', () => {
  const request = fc.record({
    length: fc.integer({ min: 1, max: 70 }),
    first: fc.nat(6),
    options: fc.record({
      maxTokens: fc.integer({ min: 0, max: 30 }),
      temperature: fc.constantFrom(0, 1),
      seed: fc.bigInt({ min: 0n, max: 1000n }),
      priority: fc.constantFrom(0, 0, 1),
      repetitionPenalty: fc.constantFrom(1, 1.3),
      logprobs: fc.constantFrom(undefined, 2),
    }),
  });
  const limits = fc.record({
    maxTokensPerStep: fc.integer({ min: 4, max: 40 }),
    maxOutputRows: fc.integer({ min: 2, max: 8 }),
    numBlocks: fc.integer({ min: 7, max: 30 }),
    canSampleInStep: fc.boolean(),
    prefixCache: fc.boolean(),
  });
  /** Everything of a batch but which blocks it uses. */
  const shape = ({ tokenIds, positions, cuSeqlensQ, outputRows }: Batch) => [
    tokenIds,
    positions,
    cuSeqlensQ,
    outputRows,
  ];
  const answers = (options: GenerateOptions) => ({ ...options, seed: options.seed ?? 0n });

  it('run the same steps, whatever the mix', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 8 }), limits, async (requests, limits) => {
        const runs = [];
        for (const loop of kinds) {
          const { backend, runtime, newSession } = await setUp({ ...limits, loop });
          const results = await Promise.all(
            requests.map(
              ({ length, first, options }) => newSession(prompt(length, first)).generate(answers(options)).result,
            ),
          );
          checkBlockIntegrity(runtime);
          runs.push({ batches: backend.batches.map(shape), tokens: results.map(tokensOf), results });
        }
        expect(runs[1]!.tokens).toEqual(runs[0]!.tokens);
        expect(runs[1]!.batches).toEqual(runs[0]!.batches);

        for (const [i, { length, first, options }] of requests.entries()) {
          const { newSession } = await setUp({ maxTokensPerStep: 256 });
          const solo = await newSession(prompt(length, first)).generate(answers(options)).result;
          expect(runs[0]!.results[i]!.tokenIds).toEqual(solo.tokenIds);
          expect(runs[0]!.results[i]!.logprobs).toEqual(solo.logprobs);
        }
      }),
      { numRuns: 60 },
    );
  });
});
