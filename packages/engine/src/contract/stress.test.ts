import { createCpuBackend } from '@hearth/kernels';
import { promptLookup } from '@hearth/speculative';
import { expect, it } from 'vitest';
import type { GenerateOptions } from '../generate/generate-options.ts';
import { hasKernels } from '../model/__fixtures__/has-kernels.ts';
import { type StressClient, stress } from './__fixtures__/stress.ts';
import { loadTinyModel, tinyVocabSize } from './__fixtures__/tiny-models.ts';

const kinds: readonly GenerateOptions[] = [
  { temperature: 0, maxTokens: 20, ignoreEos: true },
  { temperature: 1, seed: 3n, maxTokens: 16, repetitionPenalty: 1.2 },
  { temperature: 0.8, seed: 4n, maxTokens: 12, frequencyPenalty: 0.5, ignoreEos: true },
];

/** Prompts of one to three blocks that begin alike, and hold the word of their client twice. */
function clientOf(client: number): StressClient {
  const secret = [0, 1, 2, 3].map((i) => 40 + client * 20 + i * 5);
  const requests = [1, 30, 32, 33, 60].flatMap((length, p) =>
    kinds.map((options) => ({
      prompt: [
        ...Array.from({ length }, (_, i) => 3 + ((i * i + p) % (tinyVocabSize - 3))),
        ...secret,
        p + 5,
        ...secret,
      ],
      options,
    })),
  );
  return { secret, requests };
}

it.skipIf(!hasKernels())(
  'gives 8 clients with 200 requests each, who give up at any moment, nothing but their own answers, and leaks nothing (B54)',
  { timeout: 300_000 },
  async () => {
    const backend = await createCpuBackend({ numThreads: 2 });
    const plain = await loadTinyModel('tiny-llama', { backend, prefixCache: false, maxSequences: 1, loop: 'simple' });
    const model = await loadTinyModel('tiny-llama', {
      backend,
      // Two and a half of the largest requests.
      cacheTokens: 8 * 32,
      maxTokensPerStep: 32,
      maxSequences: 6,
      checkIntegrity: true,
      speculation: { proposers: [promptLookup()], gate: { minAcceptance: 0 } },
    });
    const clients = Array.from({ length: 8 }, (_, client) => clientOf(client));
    const { numFinished, numCutShort, heapBytes, rssBytes } = await stress(model, plain, {
      clients,
      numRequestsPerClient: 200,
      seed: 1,
    });
    expect(numFinished + numCutShort).toBe(1600);
    expect(numFinished).toBeGreaterThan(300);
    expect(numCutShort).toBeGreaterThan(200);
    const { requests, prefixes, speculation } = model.stats();
    expect(requests).toMatchObject({ numRunning: 0, numWaiting: 0 });
    expect(requests.numPreemptions).toBeGreaterThan(0);
    expect(prefixes.hitTokens).toBeGreaterThan(0);
    expect(prefixes.numEvictedBlocks).toBeGreaterThan(0);
    expect(speculation.acceptedTokens).toBeGreaterThan(0);
    // Two thirds of the requests add nothing that stays.
    expect(heapBytes[1]! - heapBytes[0]!).toBeLessThan(4e6);
    expect(rssBytes[1]! - rssBytes[0]!).toBeLessThan(100e6);
    await model.dispose();
    await plain.dispose();
    await backend.dispose();
  },
);
