import { createTokenMask, type TokenMask } from '@hearth/sampler';
import type { Proposer } from '@hearth/speculative';
import { describe, expect, it } from 'vitest';
import { Session } from '../session/session.ts';
import { checkBlockIntegrity } from '../session/session-runtime.ts';
import { bytesOf, fakeTokens } from '../test/byte-codec.ts';
import { type FakeSessionsOptions, fakeSessions } from '../test/fake-sessions.ts';
import { hashScript, loopingScript } from '../test/scripts.ts';
import type { GenerateOptions, TokenConstraint } from './generate-options.ts';

const greedy = { temperature: 0, ignoreEos: true, maxTokens: 8 } as const;
const maskOf = (text: string) => createTokenMask(fakeTokens.vocabSize, bytesOf(text));

/** Allows the bytes of a text, one after the other and over and over. Remembers what it was asked. */
class Spelling implements TokenConstraint {
  readonly asked: { completion: readonly number[]; guesses: readonly number[] }[] = [];
  readonly #bytes: readonly number[];
  readonly #delay: () => Promise<unknown>;

  constructor(text: string, delay: () => Promise<unknown> = async () => {}) {
    this.#bytes = bytesOf(text);
    this.#delay = delay;
  }

  async nextMasks(completion: readonly number[], guesses: readonly number[]): Promise<readonly TokenMask[]> {
    this.asked.push({ completion, guesses });
    await this.#delay();
    const at = (length: number) => this.#bytes[length % this.#bytes.length]!;
    let numRight = 0;
    while (numRight < guesses.length && guesses[numRight] === at(completion.length + numRight)) numRight++;
    return Array.from({ length: numRight + 1 }, (_, i) =>
      createTokenMask(fakeTokens.vocabSize, [at(completion.length + i)]),
    );
  }
}

/** Guesses that the text goes on as `text` does, over and over; one of them wrong where told so. */
function guessing(text: string, promptLength: number, wrongAt = -1): Proposer {
  const bytes = bytesOf(text);
  return {
    name: 'guessing',
    start: () => ({
      propose: (tokenIds, maxTokens) =>
        Array.from({ length: maxTokens }, (_, i) => {
          const at = tokenIds.length - promptLength + i;
          return at === wrongAt ? 0 : bytes[at % bytes.length]!;
        }),
      dispose: async () => {},
    }),
  };
}

async function run(requests: readonly GenerateOptions[], options: Partial<FakeSessionsOptions> = {}) {
  const { runtime, backend } = await fakeSessions({
    next: hashScript(),
    contextLength: 256,
    maxTokensPerStep: 32,
    maxOutputRows: 16,
    ...options,
  });
  const results = await Promise.all(
    requests.map((request) => new Session(runtime, { tokenIds: [1, 2, 3] }).generate(request).result),
  );
  checkBlockIntegrity(runtime);
  return { results, numSteps: backend.batches.length };
}

const soon = () => new Promise((resolve) => setTimeout(resolve, 1));

describe('a constraint', () => {
  it.each([
    ['in the step', {}],
    ['with log-probabilities', { logprobs: 2 }],
  ])('is asked once for each token and obeyed, sampled %s', async (_, more) => {
    for (const delay of [async () => {}, soon]) {
      const constraint = new Spelling('abc', delay);
      const { results } = await run([{ ...greedy, ...more, constraint }]);
      expect(results[0]!.text).toBe('abcabcab');
      expect(constraint.asked.map(({ completion }) => completion.length)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
      expect(constraint.asked[3]!.completion).toEqual(bytesOf('abc'));
    }
  });

  it('leaves the texts of others as they are, however long it takes', async () => {
    const free = { ...greedy, maxTokens: 20 };
    const [alone] = (await run([free])).results;
    for (const delay of [async () => {}, soon, () => new Promise((resolve) => setTimeout(resolve, 30))]) {
      const { results } = await run([free, { ...greedy, constraint: new Spelling('xyz', delay) }, free]);
      expect(results.map(({ text }) => text)).toEqual([alone!.text, 'xyzxyzxy', alone!.text]);
    }
  });

  it('lets others go on while it takes its time', async () => {
    const { runtime } = await fakeSessions({ next: loopingScript('ab'), contextLength: 256 });
    const generate = (options: GenerateOptions) =>
      new Session(runtime, { tokenIds: [1] }).generate({ ...greedy, ...options });
    let release = () => {};
    const stuck = generate({
      constraint: new Spelling('z', () => new Promise<void>((resolve) => (release = resolve))),
    });
    expect((await generate({ maxTokens: 30 }).result).tokenIds).toHaveLength(30);
    release();
    await stuck.cancel();
    expect((await stuck.result).finishReason).toBe('cancelled');
  });

  it('checks guesses in one step, and stops where one is not allowed', async () => {
    for (const wrongAt of [-1, 1, 3, 5]) {
      for (const more of [{}, { logprobs: 1 }]) {
        const proposer = guessing('abcd', 3, wrongAt);
        const speculation = { proposers: [proposer], maxTokens: 3, gate: { minAcceptance: 0 } };
        const constraint = new Spelling('abcd');
        const { results, numSteps } = await run([{ ...greedy, ...more, maxTokens: 24, constraint, speculation }]);
        expect(results[0]!.text).toBe('abcd'.repeat(6));
        expect(constraint.asked.some(({ guesses }) => guesses.length === 3)).toBe(true);
        expect(numSteps).toBeLessThan(18);
        expect(results[0]!.speculation!.acceptedTokens).toBeGreaterThan(6);
      }
    }
  });

  it.each([
    ['rejects', async () => Promise.reject(new Error('no more masks')), 'no more masks'],
    ['gives no masks', async () => [], 'must give 1 to 1 masks'],
    ['gives more masks than tokens', async () => [undefined, undefined], 'must give 1 to 1 masks'],
    ['gives a mask of another size', async () => [new Uint32Array(1)], 'mask'],
  ] as const)('that %s ends its own text with the error, and no other', async (_, nextMasks, message) => {
    const { runtime } = await fakeSessions({ next: loopingScript('ab'), contextLength: 256 });
    const generate = (options: GenerateOptions) =>
      new Session(runtime, { tokenIds: [1] }).generate({ ...greedy, ...options }).result;
    const failing: TokenConstraint = {
      nextMasks: async (completion) => (completion.length < 3 ? [undefined] : nextMasks()),
    };
    for (const more of [{}, { logprobs: 1 }]) {
      const [failed, other] = await Promise.allSettled([generate({ constraint: failing, ...more }), generate({})]);
      expect(failed).toMatchObject({ status: 'rejected', reason: { message: expect.stringContaining(message) } });
      expect(other).toMatchObject({ status: 'fulfilled', value: { text: 'abababab' } });
    }
    checkBlockIntegrity(runtime);
  });

  it('can be left while its masks are on their way', async () => {
    const { runtime, backend } = await fakeSessions({ next: loopingScript('ab'), contextLength: 256 });
    const constraint: TokenConstraint = { nextMasks: () => new Promise(() => {}) };
    const generation = new Session(runtime, { tokenIds: [1] }).generate({ ...greedy, constraint });
    await soon();
    await generation.cancel();
    expect(await generation.result).toMatchObject({ finishReason: 'cancelled', tokenIds: [] });
    expect(backend.batches).toHaveLength(0);
    await runtime.loop.idle();
  });

  it('allows everything where it gives no mask, and is copied where it gives one', async () => {
    const mask = maskOf('q');
    const free = await run([greedy]);
    const constraint: TokenConstraint = {
      nextMasks: async ({ length }) => {
        if (length !== 0) return [undefined];
        queueMicrotask(() => queueMicrotask(() => mask.fill(0)));
        return [mask];
      },
    };
    const { results } = await run([{ ...greedy, constraint }]);
    expect(results[0]!.text[0]).toBe('q');
    expect(results[0]!.text).not.toBe(free.results[0]!.text);
    expect(results[0]!.tokenIds).toHaveLength(8);
  });

  it('is refused beside a mask, and when it is none', async () => {
    const { runtime } = await fakeSessions({ next: loopingScript('ab'), contextLength: 256 });
    const generate = (options: GenerateOptions) => () => new Session(runtime, { tokenIds: [1] }).generate(options);
    expect(generate({ constraint: new Spelling('a'), mask: () => undefined })).toThrow(/mask and constraint/);
    expect(generate({ constraint: {} as TokenConstraint })).toThrow(/constraint must be an object with/);
  });
});
