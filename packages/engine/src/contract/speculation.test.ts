import type { Backend } from '@hearth/core';
import { createCpuBackend } from '@hearth/kernels';
import { createTokenMask } from '@hearth/sampler';
import { draftModel, type Proposer, promptLookup, type SpeculationOptions } from '@hearth/speculative';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { GenerateOptions } from '../generate/generate-options.ts';
import { hasKernels } from '../model/__fixtures__/has-kernels.ts';
import type { Model } from '../model/model.ts';
import { loadTinyModel, tinyVocabSize } from './__fixtures__/tiny-models.ts';

describe.skipIf(!hasKernels())('guessing ahead on the kernels', () => {
  let backend: Backend;
  let model: Model;
  let draft: Model;

  beforeAll(async () => {
    backend = await createCpuBackend({ numThreads: 2 });
    model = await loadTinyModel('tiny-llama', { backend, cacheTokens: 4096, maxTokensPerStep: 256 });
    draft = await loadTinyModel('tiny-llama', { backend, cacheTokens: 1024 });
  });

  afterAll(async () => {
    await model.dispose();
    await draft.dispose();
    await backend.dispose();
  });

  async function generate(prompt: readonly number[], options: GenerateOptions) {
    const session = model.createSession({ tokenIds: prompt });
    const result = await session.generate({ ignoreEos: true, ...options }).result;
    await session.dispose();
    return result;
  }

  it('draws from the distribution of the model: chi-square over 5000 draws of one token (B60)', async () => {
    const prompt = [5, 9, 13];
    const forced = 40;
    const session = model.createSession({ tokenIds: prompt });
    const probabilities = softmax(await session.forward([forced]));
    await session.dispose();
    const likely = probabilities.indexOf(Math.max(...probabilities));

    // The first token is always the same; the second one, which counts, is chosen beside a guess of it.
    const mask = createTokenMask(tinyVocabSize, [forced]);
    const speculation = { proposers: [always(likely)], gate: { minAcceptance: 0 } };
    const counts = new Array<number>(tinyVocabSize).fill(0);
    let numAccepted = 0;
    const numDraws = 5000;
    const draw = async (seed: number) => {
      const { tokenIds, speculation: stats } = await generate(prompt, {
        temperature: 1,
        seed,
        maxTokens: 3,
        mask: ({ length }) => (length === 0 ? mask : undefined),
        speculation,
      });
      expect(tokenIds[0]).toBe(forced);
      counts[tokenIds[1]!]!++;
      numAccepted += stats!.acceptedTokens;
    };
    for (let first = 0; first < numDraws; first += 500) {
      await Promise.all(Array.from({ length: 500 }, (_, i) => draw(first + i)));
    }
    // The guess stood about as often as it is likely, so the rows that count were those of guesses.
    expect(numAccepted).toBeGreaterThan((probabilities[likely]! * numDraws) / 2);
    expect(chiSquareScore(counts, probabilities, numDraws)).toBeLessThan(3.09);
  });

  // Guesses of a draft model that is this very model stand whenever the choice is greedy.
  it.each([1, 2, 3, 4, 5, 8, 13, 16])(
    'changes no token and no log-probability with %i guesses, 4 at once (B60)',
    async (maxTokens) => {
      const prompts = [3, 5, 7, 11].map((period) => Array.from({ length: 40 }, (_, i) => 20 + (i % period) * 9));
      const allowed = createTokenMask(
        tinyVocabSize,
        Array.from({ length: tinyVocabSize }, (_, id) => id).filter((id) => id % 5 !== 2),
      );
      const kinds: readonly GenerateOptions[] = [
        { temperature: 0 },
        { temperature: 0, repetitionPenalty: 1.3, frequencyPenalty: 0.4, presencePenalty: 0.2 },
        { temperature: 0, logitBias: { 29: 4, 38: -100 }, mask: () => allowed },
        { temperature: 1, seed: 11n },
      ];
      let numAccepted = 0;
      for (const proposer of [promptLookup({ minNgram: 1 }), draftModel(draft)]) {
        const speculation: SpeculationOptions = { proposers: [proposer], maxTokens, gate: { minAcceptance: 0 } };
        for (const kind of kinds) {
          const options = { ...kind, maxTokens: 30, logprobs: 2 };
          const fast = await Promise.all(prompts.map((prompt) => generate(prompt, { ...options, speculation })));
          for (const [i, prompt] of prompts.entries()) {
            const plain = await generate(prompt, options);
            expect(fast[i]!.tokenIds).toEqual(plain.tokenIds);
            expect(fast[i]!.logprobs).toEqual(plain.logprobs);
            numAccepted += fast[i]!.speculation!.acceptedTokens;
          }
        }
      }
      // Greedy answers of the model that drafts as well.
      expect(numAccepted).toBeGreaterThan(prompts.length * 10);
    },
  );
});

/** Guesses one token, over and over. */
function always(tokenId: number): Proposer {
  return {
    name: 'always',
    start: () => ({
      propose: (_, maxTokens) => Array.from({ length: maxTokens }, () => tokenId),
      dispose: async () => {},
    }),
  };
}

function softmax(logits: Float32Array): number[] {
  const most = Math.max(...logits);
  const weights = Array.from(logits, (logit) => Math.exp(logit - most));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/**
 * How many standard deviations the chi-square statistic lies above what chance gives (Wilson and Hilferty, 1931). Tokens that
 * are expected fewer than five times count as one.
 */
function chiSquareScore(counts: readonly number[], probabilities: readonly number[], numDraws: number): number {
  const cells = [{ count: 0, expected: 0 }];
  for (const [id, probability] of probabilities.entries()) {
    const cell = { count: counts[id]!, expected: probability * numDraws };
    if (cell.expected >= 5) cells.push(cell);
    else {
      cells[0]!.count += cell.count;
      cells[0]!.expected += cell.expected;
    }
  }
  const used = cells.filter(({ expected }) => expected > 0);
  const statistic = used.reduce((sum, { count, expected }) => sum + (count - expected) ** 2 / expected, 0);
  const freedom = used.length - 1;
  return (Math.cbrt(statistic / freedom) - (1 - 2 / (9 * freedom))) / Math.sqrt(2 / (9 * freedom));
}
