import { HearthError } from '@hearth/core';
import type { GenerateOptions, GenerateResult, Model } from '@hearth/engine';
import { resolveModel } from '@hearth/hub';
import { createCpuBackend } from '@hearth/kernels';
import { createTokenMask } from '@hearth/sampler';
import { promptLookup, type SpeculationOptions } from '@hearth/speculative';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadModel } from './load-model.ts';

/** The default model, as `npm test` fetches it, and the kernels; without one of them there is nothing to run. */
const path = await resolveModel('smollm2:135m', { offline: true }).then(({ path }) => path, missing);
const kernels = await createCpuBackend({ numThreads: 2 }).catch(missing);

function missing(error: unknown): null {
  if (HearthError.isInstance(error)) return null;
  throw error;
}

/** For machines that are busy with something else. */
const timeout = 300_000;

const guessAlways = (maxTokens: number): SpeculationOptions => ({
  proposers: [promptLookup()],
  maxTokens,
  gate: { minAcceptance: 0 },
});

describe.skipIf(!path || !kernels)('SmolLM2-135M-Instruct, many requests at once', () => {
  let plain: Model;
  let model: Model;

  beforeAll(async () => {
    const common = { backend: kernels!, contextLength: 512 };
    plain = await loadModel(path!, { ...common, prefixCache: false, maxSequences: 1, loop: 'simple' });
    // Blocks for a fifth of what 16 requests hold in the end.
    model = await loadModel(path!, { ...common, cacheTokens: 12 * 32, maxTokensPerStep: 64, checkIntegrity: true });
  });

  afterAll(async () => {
    await plain.dispose();
    await model.dispose();
    await kernels!.dispose();
  });

  async function generate(on: Model, tokenIds: ArrayLike<number>, options: GenerateOptions): Promise<GenerateResult> {
    const session = on.createSession({ tokenIds });
    const result = await session.generate(options).result;
    await session.dispose();
    return result;
  }

  const answerOf = ({ text, tokenIds, logprobs, finishReason }: GenerateResult) => ({
    text,
    tokenIds,
    logprobs,
    finishReason,
  });

  it('gives 16 requests their solo answers, with guesses and a cache too small for them (B36, B57)', {
    timeout,
  }, async () => {
    const places = ['France', 'Italy', 'Spain', 'Norway', 'Japan', 'Peru', 'Kenya', 'India'];
    const requests = await Promise.all(
      places.flatMap((place) =>
        [0, 1].map(async (temperature) => {
          const question = `The capital of ${place} is a city. Repeat after me: the capital of ${place} is a city. Say it.`;
          const tokenIds = await model.renderChat([{ role: 'user', content: question }]);
          return { tokenIds, options: { temperature, seed: BigInt(place.length), maxTokens: 24, logprobs: 1 } };
        }),
      ),
    );
    const solos = [];
    for (const { tokenIds, options } of requests) solos.push(await generate(plain, tokenIds, options));
    const together = await Promise.all(
      requests.map(({ tokenIds, options }) => generate(model, tokenIds, { ...options, speculation: guessAlways(8) })),
    );
    expect(together.map(answerOf)).toEqual(solos.map(answerOf));
    const { requests: counts, prefixes, speculation } = model.stats();
    expect(counts.numPreemptions).toBeGreaterThan(0);
    expect(prefixes.hitTokens).toBeGreaterThan(0);
    expect(speculation.acceptedTokens).toBeGreaterThan(0);
  });

  it('answers repetitive prompts alike with 1 to 16 guesses, 4 at once (B60)', { timeout }, async () => {
    const lines = ['const a = 1;\n', 'the cat sat on the mat. ', 'x, y, z; ', '- one\n- two\n- three\n'];
    const { vocabSize } = model.info;
    const allowed = createTokenMask(
      vocabSize,
      Array.from({ length: vocabSize }, (_, id) => id).filter((id) => id % 7 !== 3),
    );
    const kinds: readonly GenerateOptions[] = [
      { temperature: 0 },
      { temperature: 0, repetitionPenalty: 1.05, frequencyPenalty: 0.1, presencePenalty: 0.1 },
      { temperature: 0, logitBias: { 28: 1, 30: -100 }, mask: () => allowed },
      { temperature: 1, seed: 9n },
    ];
    const requests = await Promise.all(
      kinds.map(async (kind, i) => ({
        tokenIds: await model.tokenizer.encode(lines[i]!.repeat(5)),
        options: { ...kind, maxTokens: 20, ignoreEos: true, logprobs: 0 },
      })),
    );
    const solos = [];
    for (const { tokenIds, options } of requests) solos.push(await generate(plain, tokenIds, options));
    for (const maxTokens of [1, 2, 3, 5, 8, 16]) {
      const fast = await Promise.all(
        requests.map(({ tokenIds, options }) =>
          generate(model, tokenIds, { ...options, speculation: guessAlways(maxTokens) }),
        ),
      );
      expect(fast.map(answerOf)).toEqual(solos.map(answerOf));
      expect(fast[0]!.speculation!.acceptedTokens).toBeGreaterThan(0);
    }
  });
});
