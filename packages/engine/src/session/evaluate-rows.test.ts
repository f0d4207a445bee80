import { NumericError } from '@hearth/core';
import { afterEach, describe, expect, it } from 'vitest';
import { fakeTokens } from '../test/byte-codec.ts';
import { type FakeSessionsOptions, fakeSessions } from '../test/fake-sessions.ts';
import { hashScript } from '../test/scripts.ts';
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
    newSession: (tokenIds: number[]) => new Session(runtime, { tokenIds }),
  };
}

describe('forward', () => {
  it('gives the logits after each token, over chunks of at most maxOutputRows', async () => {
    const { backend, newSession } = await setUp({ next: hashScript(), maxTokensPerStep: 8, maxOutputRows: 4 });
    const session = newSession([1, 2, 3]);
    const ids = Array.from({ length: 10 }, (_, i) => i);
    const logits = await session.forward(ids);
    expect(session.numCachedTokens).toBe(13);
    expect(backend.batches.map((batch) => batch.outputRows.length)).toEqual([4, 4, 2]);
    const { vocabSize } = fakeTokens;
    for (const [i] of ids.entries()) {
      const row = logits.subarray(i * vocabSize, (i + 1) * vocabSize);
      expect(row.indexOf(20)).toBe(hashScript()([1, 2, 3, ...ids.slice(0, i + 1)]));
    }
  });

  it('leaves the session as long as before when it fails', async () => {
    const { backend, newSession } = await setUp({ next: hashScript() });
    const session = newSession([1, 2]);
    backend.beforeStep = (batch) => {
      if (batch.positions[0] === 6) throw new NumericError('lm_head', 'lm_head produced NaN.');
    };
    await expect(session.forward([3, 4, 5, 6, 7, 8])).rejects.toThrow(NumericError);
    expect([session.length, session.numCachedTokens]).toEqual([2, 2]);
  });
});

describe('score', () => {
  it('gives the log-probability of each token and the argmax in its place, as forward does', async () => {
    const { backend, newSession } = await setUp({ next: hashScript(), maxTokensPerStep: 8, maxOutputRows: 4 });
    const ids = Array.from({ length: 10 }, (_, i) => i);
    const session = newSession([1, 2, 3]);
    const { logprobs, argmax } = await session.score(ids);
    // The rows are those of the token before each; the last token is not run.
    expect(backend.batches.map((batch) => batch.outputRows.length)).toEqual([4, 4, 2]);
    expect([session.length, session.numCachedTokens]).toEqual([13, 12]);
    const logits = await newSession([1, 2]).forward([3, ...ids.slice(0, -1)]);
    const { vocabSize } = fakeTokens;
    for (const [i, id] of ids.entries()) {
      const row = logits.subarray(i * vocabSize, (i + 1) * vocabSize);
      const total = row.reduce((sum, logit) => sum + Math.exp(logit), 0);
      expect(logprobs[i]).toBeCloseTo(row[id]! - Math.log(total), 5);
      expect(argmax[i]).toBe(row.indexOf(20));
    }
  });

  it.each([0, 1, 5, 20])('names the %i best tokens in the place of each, as a generation does', async (topLogprobs) => {
    // Rows of which every token differs from the next one, and some are equal.
    const next = (context: readonly number[]) => {
      const shift = hashScript()(context) as number;
      return Float32Array.from({ length: fakeTokens.vocabSize }, (_, id) => Math.fround(((id * 37 + shift) % 101) / 9));
    };
    const { newSession } = await setUp({ next });
    const options = { ...greedy, maxTokens: 12, ignoreEos: true, logprobs: topLogprobs };
    const { tokenIds, logprobs } = await newSession([1, 2, 3]).generate(options).result;
    const plain = await newSession([1, 2, 3]).score(tokenIds);
    expect(plain).not.toHaveProperty('topLogprobs');
    for (const maxTokensPerStep of [1, 4, 7, 128]) {
      const sizes = { maxTokensPerStep, maxOutputRows: Math.min(maxTokensPerStep, 64) };
      const other = await setUp({ next, ...sizes });
      const scores = await other.newSession([1, 2, 3]).score(tokenIds, { topLogprobs });
      expect(scores.topLogprobs).toEqual(logprobs!.map((token) => token.topLogprobs));
      expect([...scores.logprobs]).toEqual(logprobs!.map((token) => token.logprob));
      expect({ logprobs: scores.logprobs, argmax: scores.argmax }).toEqual(plain);
    }
  });

  it.each([-1, 21, 0.5, Number.NaN, '1' as never])('refuses topLogprobs of %s', async (topLogprobs) => {
    const { newSession } = await setUp({ next: hashScript() });
    const scoring = newSession([1]).score([2], { topLogprobs });
    await expect(scoring).rejects.toMatchObject({ code: 'invalid_argument', details: { field: 'topLogprobs' } });
  });

  it('scores the same when the token before was in the cache already', async () => {
    const { newSession } = await setUp({ next: hashScript() });
    const fresh = await newSession([1, 2, 3]).score([4, 5]);
    const session = newSession([1, 2, 3]);
    await session.prefill();
    expect(await session.score([4, 5])).toEqual(fresh);
  });

  it('refuses an empty session, and leaves one that failed as long as before', async () => {
    const { backend, newSession } = await setUp({ next: hashScript() });
    await expect(newSession([]).score([1])).rejects.toThrow(/empty session cannot score/);
    const session = newSession([1, 2]);
    backend.beforeStep = () => {
      throw new NumericError('lm_head', 'lm_head produced NaN.');
    };
    await expect(session.score([3, 4])).rejects.toThrow(NumericError);
    expect(session.length).toBe(2);
  });
});
