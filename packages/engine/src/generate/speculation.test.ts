import { draftModel, type Proposer, promptLookup, type SpeculationOptions } from '@hearth/speculative';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Session } from '../session/session.ts';
import { checkBlockIntegrity } from '../session/session-runtime.ts';
import { bytesOf, fakeTokens } from '../test/byte-codec.ts';
import { createFakeModel } from '../test/fake-model.ts';
import { type FakeSessionsOptions, fakeSessions } from '../test/fake-sessions.ts';
import { hashScript, loopingScript, replyScript } from '../test/scripts.ts';
import type { GenerateOptions } from './generate-options.ts';

const greedy = { temperature: 0, ignoreEos: true } as const;

/** Knows what the fake model will say and is right as often as told, which depends on the place alone. */
function oracle(next: FakeSessionsOptions['next'], isRight: (position: number) => boolean, delayed = false): Proposer {
  const guess = (tokenIds: readonly number[], maxTokens: number) => {
    const context = [...tokenIds];
    for (let i = 0; i < maxTokens; i++) {
      const token = next(context) as number;
      context.push(isRight(context.length) ? token : (token + 1) % 256);
    }
    return context.slice(tokenIds.length);
  };
  return {
    name: 'oracle',
    start: () => ({
      propose: (tokenIds, maxTokens) => {
        const guesses = guess(tokenIds, maxTokens);
        return delayed ? new Promise((resolve) => setTimeout(resolve, 1, guesses)) : guesses;
      },
      dispose: async () => {},
    }),
  };
}

const neverPause = { minAcceptance: 0 };

async function run(options: FakeSessionsOptions, requests: { prompt: number[]; options: GenerateOptions }[]) {
  const { backend, runtime } = await fakeSessions({
    contextLength: 256,
    maxTokensPerStep: 32,
    maxOutputRows: 16,
    ...options,
  });
  const results = await Promise.all(
    requests.map(({ prompt, options }) => new Session(runtime, { tokenIds: prompt }).generate(options).result),
  );
  checkBlockIntegrity(runtime);
  return { results, numSteps: backend.batches.length };
}

describe('speculation', () => {
  it('takes as many steps fewer as guesses stand', async () => {
    const next = hashScript();
    const speculation: SpeculationOptions = { proposers: [oracle(next, () => true)], maxTokens: 3 };
    const request = { prompt: [1, 2, 3], options: { ...greedy, maxTokens: 21 } };
    const plain = await run({ next }, [request]);
    const fast = await run({ next, speculation }, [request]);
    expect(fast.results[0]!.tokenIds).toEqual(plain.results[0]!.tokenIds);
    expect(plain.numSteps).toBe(21);
    expect(fast.numSteps).toBeLessThan(9);
    const { speculation: stats } = fast.results[0]!;
    expect(stats!.acceptedTokens).toBe(stats!.proposedTokens);
    expect(plain.results[0]!.speculation).toBeUndefined();
  });

  it.each([
    ['an end token (B58)', { ignoreEos: false }],
    ['a stop string over two tokens', { stop: ['yz'] }],
    ['a stop string within a longer one', { stop: ['wxyz!', 'xy'] }],
    ['the limit', { maxTokens: 4 }],
    ['a stop token', { stopTokenIds: bytesOf('y') }],
  ] as [string, GenerateOptions][])('ends within an accepted run at %s', async (_, options) => {
    const next = replyScript(2, 'vwxyz', fakeTokens.eos);
    for (const guesses of [2, 3, 4, 5, 8]) {
      const speculation: SpeculationOptions = { proposers: [oracle(next, () => true)], maxTokens: guesses };
      const request = { prompt: [1, 2], options: { ...greedy, maxTokens: 12, seed: 1n, ...options, logprobs: 1 } };
      const [plain, fast] = [await run({ next }, [request]), await run({ next, speculation }, [request])];
      const { timings, speculation: stats, ...answer } = fast.results[0]!;
      const { timings: _, ...expected } = plain.results[0]!;
      expect(answer).toEqual(expected);
      expect(stats!.acceptedTokens).toBeGreaterThan(0);
    }
  });

  it('goes on in a session as if it had decoded one by one', async () => {
    const next = hashScript();
    const { runtime } = await fakeSessions({ next, contextLength: 256, maxOutputRows: 16, maxTokensPerStep: 16 });
    const proposers = [oracle(next, (position) => position % 3 > 0)];
    const session = new Session(runtime, { tokenIds: [4] });
    const tokens = [];
    for (const maxTokens of [1, 2, 7, 30]) {
      tokens.push(...(await session.generate({ ...greedy, maxTokens, speculation: { proposers } }).result).tokenIds);
    }
    const plain = await run({ next }, [{ prompt: [4], options: { ...greedy, maxTokens: 40 } }]);
    expect(tokens).toEqual(plain.results[0]!.tokenIds);
    expect(session.length).toBe(41);
    session.truncate(20);
    const again = await session.generate({ ...greedy, maxTokens: 5 }).result;
    expect(again.tokenIds).toEqual(tokens.slice(19, 24));
  });

  it('changes nothing, whatever is guessed and whoever runs beside it', async () => {
    const request = fc.record({
      prompt: fc.array(fc.nat(3), { minLength: 1, maxLength: 40 }),
      options: fc.record(
        {
          maxTokens: fc.integer({ min: 0, max: 40 }),
          temperature: fc.constantFrom(0, 0.8, 3),
          seed: fc.bigInt({ min: 0n, max: 99n }),
          logprobs: fc.constantFrom(0, 2),
          repetitionPenalty: fc.constantFrom(1.2, 2),
          frequencyPenalty: fc.constantFrom(0.5, 2),
          presencePenalty: fc.constant(1),
          logitBias: fc.constant({ 5: 4, 7: -3 }),
          stop: fc.constantFrom(['ab'], ['\u0001']),
        },
        { requiredKeys: ['maxTokens', 'temperature', 'seed'] },
      ),
    });
    const set = fc.record({
      maxTokens: fc.integer({ min: 1, max: 12 }),
      wrongEvery: fc.integer({ min: 1, max: 6 }),
      delayed: fc.boolean(),
      lookup: fc.boolean(),
      numBlocks: fc.integer({ min: 6, max: 24 }),
      canSampleInStep: fc.boolean(),
    });
    // Few different tokens, so that lookup finds something and guesses of sampled text stand now and then.
    const next = hashScript(4);
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 5 }), set, async (requests, set) => {
        const { maxTokens, wrongEvery, delayed, lookup, numBlocks, canSampleInStep } = set;
        const made = oracle(next, (position) => position % wrongEvery !== 0, delayed);
        const speculation = { proposers: [...(lookup ? [promptLookup()] : []), made], maxTokens, gate: neverPause };
        const fast = await run({ next, numBlocks, canSampleInStep, speculation, maxOutputRows: 6 }, requests);
        for (const [i, { speculation: _, timings, usage, ...answer }] of fast.results.entries()) {
          const solo = (await run({ next, prefixCache: false, loop: 'simple' }, [requests[i]!])).results[0]!;
          const { timings: __, usage: soloUsage, ...expected } = solo;
          expect(answer).toEqual(expected);
          expect(usage.completionTokens).toBe(soloUsage.completionTokens);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('asks for a mask once a token, in order, and keeps to it', async () => {
    const next = loopingScript('abcdef');
    for (const canSampleInStep of [false, true]) {
      const asked: number[] = [];
      const mask = (completion: readonly number[]) => {
        asked.push(completion.length);
        // Every fourth token must be 'x'.
        const words = new Uint32Array(Math.ceil(fakeTokens.vocabSize / 32)).fill(0xffffffff);
        if (completion.length % 4 !== 3) return words;
        words.fill(0);
        words[120 >>> 5]! |= 1 << (120 & 31);
        return words;
      };
      const speculation = { proposers: [oracle(next, () => true)], gate: neverPause };
      const options = { ...greedy, maxTokens: 12, mask };
      const fast = await run({ next, canSampleInStep, speculation }, [{ prompt: [1], options }]);
      expect(fast.results[0]!.text).toBe('abcxabcxabcx');
      expect(asked).toEqual(Array.from({ length: 12 }, (_, i) => i));
    }
  });

  it('survives a proposer that fails, and says so', async () => {
    const failing: Proposer = {
      name: 'failing',
      start: () => ({
        propose: async () => {
          throw new Error('no guess');
        },
        dispose: async () => {},
      }),
    };
    const next = hashScript();
    const { results } = await run({ next, speculation: { proposers: [failing] } }, [
      { prompt: [1], options: { ...greedy, maxTokens: 5 } },
    ]);
    expect(results[0]!.tokenIds).toHaveLength(5);
    expect(results[0]!.speculation).toMatchObject({
      failures: expect.any(Number),
      lastFailure: expect.stringMatching('no guess'),
    });
  });

  it('guesses with another model, whose blocks are free afterwards', async () => {
    const [target, draft] = [
      await createFakeModel({ next: hashScript(8) }),
      await createFakeModel({ next: hashScript(8) }),
    ];
    const plain = await target.model.createSession({ tokenIds: [1, 2] }).generate({ ...greedy, maxTokens: 30 }).result;
    target.backend.batches.length = 0;
    const speculation = { proposers: [draftModel(draft.model)] };
    const fast = await target.model
      .createSession({ tokenIds: [1, 2] })
      .generate({ ...greedy, maxTokens: 30, speculation }).result;
    expect(fast.tokenIds).toEqual(plain.tokenIds);
    expect(target.backend.batches.length).toBeLessThan(20);
    expect(target.model.stats().speculation.acceptedTokens).toBeGreaterThan(15);
    expect(draft.model.stats().cache.numOwnedBlocks).toBe(0);
  });

  it('refuses to let a model guess for itself, which would wait for ever', async () => {
    const { model } = await createFakeModel({ next: hashScript(8) });
    const session = model.createSession({ tokenIds: [1, 2] });
    const speculation = { proposers: [draftModel(model)] };
    expect(() => session.generate({ ...greedy, maxTokens: 5, speculation })).toThrow(/own draft model/);
    expect((await session.generate({ ...greedy, maxTokens: 5 }).result).tokenIds).toHaveLength(5);
  });

  it('does not wait for ever for a proposer, nor keeps anybody else waiting', async () => {
    const stuck: Proposer = {
      name: 'stuck',
      start: () => ({ propose: () => new Promise(() => {}), dispose: async () => {} }),
    };
    const next = hashScript();
    const { runtime } = await fakeSessions({ next, prefillTimeMs: 20 });
    const generate = (options: GenerateOptions) =>
      new Session(runtime, { tokenIds: [1] }).generate({ ...greedy, maxTokens: 10, ...options }).result;
    const results = await Promise.all([generate({ speculation: { proposers: [stuck] } }), generate({})]);
    expect(results[0]!.tokenIds).toEqual(results[1]!.tokenIds);
  });

  it('drops guesses that come when the text has gone on', async () => {
    const next = hashScript();
    const slow: Proposer = {
      name: 'slow',
      start: () => ({
        propose: (tokenIds, maxTokens) => {
          const context = [...tokenIds];
          for (let i = 0; i < maxTokens; i++) context.push(next(context) as number);
          return new Promise((resolve) => setTimeout(resolve, 30, context.slice(tokenIds.length)));
        },
        dispose: async () => {},
      }),
    };
    const { backend, runtime } = await fakeSessions({ next, contextLength: 256, maxOutputRows: 16, prefillTimeMs: 5 });
    backend.beforeStep = () => new Promise((resolve) => setTimeout(resolve, 7));
    const speculation = { proposers: [slow], gate: neverPause };
    const options = { ...greedy, maxTokens: 40 };
    const late = await new Session(runtime, { tokenIds: [1] }).generate({ ...options, speculation }).result;
    const plain = await run({ next }, [{ prompt: [1], options }]);
    expect(late.tokenIds).toEqual(plain.results[0]!.tokenIds);
  });

  it('does not let a proposer change the text through the array that it is given', async () => {
    const next = hashScript();
    const vandal: Proposer = {
      name: 'vandal',
      start: () => ({
        propose: (tokenIds) => {
          (tokenIds as number[]).fill(0);
          return [0, 0];
        },
        dispose: async () => {},
      }),
    };
    const request = { prompt: [1, 2], options: { ...greedy, maxTokens: 9 } };
    const plain = await run({ next }, [request]);
    const { results } = await run({ next, speculation: { proposers: [vandal] } }, [request]);
    expect(results[0]!.tokenIds).toEqual(plain.results[0]!.tokenIds);
  });

  it('can be stopped while a proposer works', async () => {
    const stuck: Proposer = {
      name: 'stuck',
      start: () => {
        let fail = (_: Error) => {};
        return {
          propose: () => new Promise((_, reject) => (fail = reject)),
          dispose: async () => fail(new Error('disposed')),
        };
      },
    };
    const { runtime } = await fakeSessions({ next: hashScript() });
    const endless = new Session(runtime, { tokenIds: [1] });
    const generation = endless.generate({ ...greedy, speculation: { proposers: [stuck] } });
    for await (const event of generation) if (event.index === 0) break;
    expect((await generation.result).finishReason).toBe('cancelled');
    // And nobody waits for it any longer.
    const other = await new Session(runtime, { tokenIds: [2] }).generate({ ...greedy, maxTokens: 2 }).result;
    expect(other.tokenIds).toHaveLength(2);
  });
});
