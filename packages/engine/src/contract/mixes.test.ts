// No output changes because of what else is done at the same time: random mixes of everything that a model can be asked for,
// with random settings, against the same done alone. HEARTH_PROPERTY_SEED=$RANDOM and HEARTH_PROPERTY_RUNS=1000 look further.
import type { Backend } from '@hearth/core';
import { createCpuBackend } from '@hearth/kernels';
import { createReferenceBackend } from '@hearth/reference';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { hasKernels } from '../model/__fixtures__/has-kernels.ts';
import { blockSize } from '../model/load-options.ts';
import { clients as anyClients, type Client } from './__fixtures__/client.ts';
import { type Setting, settings } from './__fixtures__/settings.ts';
import { mostPositions, playAlone } from './__fixtures__/solo.ts';
import { loadTinyModel, tinyModels } from './__fixtures__/tiny-models.ts';
import { playTogether } from './__fixtures__/together.ts';

const seed = Number(process.env.HEARTH_PROPERTY_SEED ?? 1);
const numRuns = Number(process.env.HEARTH_PROPERTY_RUNS ?? 100);

const opened = new Map<string, Backend>();
async function open(key: string, create: () => Backend | Promise<Backend>): Promise<Backend> {
  const backend = opened.get(key) ?? (await create());
  opened.set(key, backend);
  return backend;
}
const onKernels = (numThreads: number) => open(`cpu ${numThreads}`, () => createCpuBackend({ numThreads }));
const onReference = () => open('reference', createReferenceBackend);

afterAll(async () => {
  for (const backend of opened.values()) await backend.dispose();
});

/** What the mixes have come to: a property that never met these would show nothing. */
const met = { preemptions: 0, hitTokens: 0, acceptedTokens: 0, rejectedTokens: 0, evictedBlocks: 0 };

async function checkMix(setting: Setting, clients: readonly Client[], solo: Backend, backend: Backend): Promise<void> {
  const { name, cacheDtype, options } = setting;
  const load = (name: string, backend: Backend, options = {}) =>
    loadTinyModel(name, { backend, cacheDtype, ...options });
  const plain = await load(name, solo, { prefixCache: false, maxSequences: 1, loop: 'simple' });
  const played = [];
  for (const client of clients) played.push({ ...client, steps: await playAlone(plain, client) });
  await plain.dispose();

  const positions = Math.max(...played.map(({ prompt, steps }) => mostPositions(prompt, steps)));
  const cacheTokens = (Math.ceil(positions / blockSize) + setting.numSpareBlocks) * blockSize;
  const model = await load(name, backend, { ...options, cacheTokens });
  const drafts = {
    sameModel: await load(name, backend, { cacheTokens: 1024 }),
    otherModel: await load(tinyModels[(tinyModels.indexOf(name) + 5) % tinyModels.length]!, backend, {
      cacheTokens: 1024,
    }),
  };
  await playTogether(model, played, drafts);
  const { requests, prefixes, speculation } = model.stats();
  met.preemptions += requests.numPreemptions;
  met.hitTokens += prefixes.hitTokens;
  met.evictedBlocks += prefixes.numEvictedBlocks;
  met.acceptedTokens += speculation.acceptedTokens;
  met.rejectedTokens += speculation.proposedTokens - speculation.acceptedTokens;
  for (const loaded of [model, drafts.sameModel, drafts.otherModel]) await loaded.dispose();
}

describe('many requests at once, each as if it were alone', () => {
  it.skipIf(!hasKernels())(
    `on the kernels, ${numRuns} mixes of seed ${seed}`,
    { timeout: 60_000 + 2_000 * numRuns },
    async () => {
      await fc.assert(
        fc.asyncProperty(settings(), anyClients, async (setting, clients) => {
          await checkMix(
            setting,
            clients,
            await onKernels(3 - setting.numThreads),
            await onKernels(setting.numThreads),
          );
        }),
        // A mix that fails is told at once: making it smaller takes longer than the test may.
        { seed, numRuns, endOnFailure: true },
      );
      for (const [what, count] of Object.entries(met)) expect(count, what).toBeGreaterThan(0);
    },
  );

  it('on the reference', { timeout: 600_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(settings(['tiny-llama', 'tiny-gemma3']), anyClients, async (setting, clients) => {
        await checkMix(setting, clients.slice(0, 4), await onReference(), await onReference());
      }),
      { seed, numRuns: 2, endOnFailure: true },
    );
  });
});
