// 8 clients with 200 requests each on a real model, who give up at any moment (B54). Not in CI: `pnpm test:models`.
// HEARTH_STRESS_REQUESTS: requests of each client, 200 unless it says otherwise.
import { resolveModel } from '@hearth/hub';
import { createCpuBackend } from '@hearth/kernels';
import { promptLookup } from '@hearth/speculative';
import { describe, expect, it } from 'vitest';
import { stress } from '../../engine/src/contract/__fixtures__/stress.ts';
import { loadModel } from './load-model.ts';

const numRequestsPerClient = Number(process.env.HEARTH_STRESS_REQUESTS ?? 200);
const path = await resolveModel('smollm2:135m', { offline: true }).then(
  ({ path }) => path,
  () => null,
);

const words = ['walrus', 'quartz', 'saffron', 'ivory', 'thunder', 'velvet', 'copper', 'meadow'];
const questions = ['Tell me a story about it.', 'Spell it.', 'What does it mean? Be brief, and say the word often.'];
const kinds = [
  { temperature: 0, maxTokens: 24 },
  { temperature: 1, seed: 5n, maxTokens: 16, repetitionPenalty: 1.1 },
] as const;

describe.skipIf(!path)(
  path ? 'smollm2:135m' : 'smollm2:135m (skipped: not in the cache, hearth pull smollm2:135m)',
  () => {
    it('gives nobody the answer of another, and leaks nothing (B54)', async () => {
      const backend = await createCpuBackend();
      const common = { backend, contextLength: 512 };
      const plain = await loadModel(path!, { ...common, prefixCache: false, maxSequences: 1, loop: 'simple' });
      const model = await loadModel(path!, {
        ...common,
        cacheTokens: 14 * 32,
        maxTokensPerStep: 64,
        maxSequences: 6,
        checkIntegrity: true,
        speculation: { proposers: [promptLookup()] },
      });
      const clients = await Promise.all(
        words.map(async (word) => ({
          // In a sentence the word begins with a blank.
          secret: [...(await model.tokenizer.encode(` ${word}`, { addBos: false }))],
          requests: await Promise.all(
            questions.flatMap((question) =>
              kinds.map(async (options) => {
                const content = `The secret word is ${word}. ${question} The word, again, is ${word}.`;
                return { prompt: [...(await model.renderChat([{ role: 'user', content }]))], options };
              }),
            ),
          ),
        })),
      );
      const report = await stress(model, plain, { clients, numRequestsPerClient, seed: 1 });
      const { requests, prefixes, speculation } = model.stats();
      console.info(JSON.stringify({ ...report, ...requests, ...prefixes, accepted: speculation.acceptedTokens }));
      expect(report.numFinished + report.numCutShort).toBe(8 * numRequestsPerClient);
      expect(requests.numPreemptions).toBeGreaterThan(0);
      expect(prefixes.numEvictedBlocks).toBeGreaterThan(0);
      const [heapBefore, heapAfter] = report.heapBytes;
      const [rssBefore, rssAfter] = report.rssBytes;
      expect(heapAfter! - heapBefore!).toBeLessThan(8e6);
      expect(rssAfter! - rssBefore!).toBeLessThan(100e6);
      await model.dispose();
      await plain.dispose();
      await backend.dispose();
    });
  },
);
