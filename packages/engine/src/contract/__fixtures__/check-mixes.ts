import type { Backend } from '@hearth/core';
import { createCpuBackend } from '@hearth/kernels';
import { createReferenceBackend } from '@hearth/reference';
import fc from 'fast-check';
import { expect } from 'vitest';
import { blockSize } from '../../model/load-options.ts';
import type { ModelStats } from '../../model/model-stats.ts';
import { type Client, clients } from './client.ts';
import { type Setting, settings } from './settings.ts';
import { mostPositions, playAlone } from './solo.ts';
import { loadTinyModel, tinyModels } from './tiny-models.ts';
import { playTogether } from './together.ts';

export interface MixOptions {
  readonly seed: number;
  readonly numRuns: number;
}

/**
 * Random mixes of clients and settings on the kernels, each held against the same clients alone with another number of
 * threads.
 */
export async function checkMixesOnKernels(options: MixOptions): Promise<void> {
  const backends = [await createCpuBackend({ numThreads: 1 }), await createCpuBackend({ numThreads: 2 })] as const;
  // What the mixes have come to: a property that never met these would show nothing.
  const met = { preemptions: 0, hitTokens: 0, acceptedTokens: 0, rejectedTokens: 0, evictedBlocks: 0 };
  const mix = fc.asyncProperty(settings(), clients, async (setting, clients) => {
    const [solo, backend] = setting.numThreads === 2 ? backends : backends.toReversed();
    const { requests, prefixes, speculation } = await checkMix(setting, clients, solo!, backend!);
    met.preemptions += requests.numPreemptions;
    met.hitTokens += prefixes.hitTokens;
    met.evictedBlocks += prefixes.numEvictedBlocks;
    met.acceptedTokens += speculation.acceptedTokens;
    met.rejectedTokens += speculation.proposedTokens - speculation.acceptedTokens;
  });
  // A mix that fails is told at once: making it smaller takes longer than the test may.
  await fc.assert(mix, { ...options, endOnFailure: true });
  for (const [what, count] of Object.entries(met)) expect(count, what).toBeGreaterThan(0);
  for (const backend of backends) await backend.dispose();
}

/** A few of the mixes on the reference, in smaller crowds, against the kernels where there are any. */
export async function checkMixesOnReference(options: MixOptions, hasKernels: boolean): Promise<void> {
  const reference = createReferenceBackend();
  const solo = hasKernels ? await createCpuBackend({ numThreads: 2 }) : createReferenceBackend();
  const mix = fc.asyncProperty(settings(['tiny-llama', 'tiny-gemma3']), clients, async (setting, clients) => {
    await checkMix(setting, clients.slice(0, 4), solo, reference);
  });
  await fc.assert(mix, { ...options, endOnFailure: true });
  for (const backend of [reference, solo]) await backend.dispose();
}

/** Clients at once on a model of this setting, against each of them alone on a plain one. */
async function checkMix(
  { name, cacheDtype, numSpareBlocks, options }: Setting,
  clients: readonly Client[],
  solo: Backend,
  backend: Backend,
): Promise<ModelStats> {
  const plain = await loadTinyModel(name, {
    backend: solo,
    cacheDtype,
    prefixCache: false,
    maxSequences: 1,
    loop: 'simple',
  });
  const played = [];
  for (const client of clients) played.push({ ...client, steps: await playAlone(plain, client) });

  const positions = Math.max(...played.map(({ prompt, steps }) => mostPositions(prompt, steps)));
  const cacheTokens = (Math.ceil(positions / blockSize) + numSpareBlocks) * blockSize;
  const model = await loadTinyModel(name, { backend, cacheDtype, ...options, cacheTokens });
  const otherName = tinyModels[(tinyModels.indexOf(name) + 5) % tinyModels.length]!;
  const drafts = {
    sameModel: await loadTinyModel(name, { backend, cacheDtype, cacheTokens: 1024 }),
    otherModel: await loadTinyModel(otherName, { backend, cacheDtype, cacheTokens: 1024 }),
  };
  await playTogether(model, played, drafts);
  const stats = model.stats();
  for (const loaded of [plain, model, drafts.sameModel, drafts.otherModel]) await loaded.dispose();
  return stats;
}
