import type { Backend } from '@hearth/core';
import { createCpuBackend } from '@hearth/kernels';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasKernels } from '../model/__fixtures__/has-kernels.ts';
import { blockSize } from '../model/load-options.ts';
import type { Model } from '../model/model.ts';
import { loadTinyModel, tinyModels } from './__fixtures__/tiny-models.ts';

const sampled = { temperature: 1, seed: 7n, maxTokens: 12, ignoreEos: true, logprobs: 2 } as const;

async function answer(model: Model, tokenIds: readonly number[], seed: bigint = sampled.seed) {
  const session = model.createSession({ tokenIds });
  const { tokenIds: made, logprobs, usage } = await session.generate({ ...sampled, seed }).result;
  await session.dispose();
  return { made, logprobs, cachedTokens: usage.cachedTokens };
}

describe.skipIf(!hasKernels()).each(tinyModels)('what was computed before, on the kernels: %s', (name) => {
  let backend: Backend;
  let plain: Model;
  let model: Model;
  const prompt = (length: number) => Array.from({ length }, (_, i) => 3 + ((i * 11) % 280));

  beforeAll(async () => {
    backend = await createCpuBackend({ numThreads: 2 });
    plain = await loadTinyModel(name, { backend, prefixCache: false, maxSequences: 1, loop: 'simple' });
    model = await loadTinyModel(name, { backend, cacheTokens: 1024, checkIntegrity: true });
  });

  afterAll(async () => {
    await plain.dispose();
    await model.dispose();
    await backend.dispose();
  });

  it('gives the same answer to a prompt of any length a second and a third time, one token longer and shorter (B53)', async () => {
    // From the longest on, so that a prompt of a block's length is cached before it is asked for.
    for (const length of [2 * blockSize, blockSize + 1, blockSize, blockSize - 1, 1]) {
      for (const tokenIds of [
        prompt(length),
        prompt(length),
        prompt(length),
        [...prompt(length), 9],
        prompt(length).slice(0, -1),
      ]) {
        if (tokenIds.length === 0) continue;
        const { made, logprobs, cachedTokens } = await answer(model, tokenIds);
        const solo = await answer(plain, tokenIds);
        expect({ made, logprobs }).toEqual({ made: solo.made, logprobs: solo.logprobs });
        expect(solo.cachedTokens).toBe(0);
        expect(cachedTokens).toBeLessThan(tokenIds.length);
      }
      // Whole blocks, without the last token, whose row gives the answer.
      const again = await answer(model, prompt(length));
      expect(again.cachedTokens).toBe(Math.floor((length - 1) / blockSize) * blockSize);
    }
  });

  it('lets forks go on as if they were fresh, from within a block and from its border', async () => {
    for (const length of [blockSize - 1, blockSize, blockSize + 9, 2 * blockSize]) {
      const session = model.createSession({ tokenIds: prompt(length) });
      await session.prefill();
      const forks = [1n, 2n, 3n].map((seed) => ({ seed, fork: session.fork() }));
      const continued = forks.map(({ seed, fork }) => fork.generate({ ...sampled, seed }).result);
      const own = session.generate({ ...sampled, seed: 4n }).result;
      for (const [i, { tokenIds, logprobs }] of (await Promise.all([...continued, own])).entries()) {
        const solo = await answer(plain, prompt(length), BigInt(i + 1));
        expect({ made: tokenIds, logprobs }).toEqual({ made: solo.made, logprobs: solo.logprobs });
      }
      // What the original has computed is still its own.
      await Promise.all(forks.map(({ fork }) => fork.dispose()));
      session.truncate(length);
      const { tokenIds } = await session.generate({ ...sampled, seed: 9n }).result;
      expect(tokenIds).toEqual((await answer(plain, prompt(length), 9n)).made);
      await session.dispose();
    }
  });

  it('resumes preempted requests without a lost or doubled token (B57)', async () => {
    // Three requests of three blocks at most each, in a cache of four.
    const small = await loadTinyModel(name, { backend, cacheTokens: 4 * blockSize, checkIntegrity: true });
    const prompts = [20, 27, 31].map((length) => prompt(length).map((id) => (id + length) % 280));
    const answers = await Promise.all(
      prompts.map(async (tokenIds) => {
        const session = small.createSession({ tokenIds });
        const { tokenIds: made, logprobs } = await session.generate({ ...sampled, maxTokens: 60 }).result;
        await session.dispose();
        return { made, logprobs };
      }),
    );
    expect(small.stats().requests.numPreemptions).toBeGreaterThan(0);
    for (const [i, tokenIds] of prompts.entries()) {
      const session = plain.createSession({ tokenIds });
      const { tokenIds: made, logprobs } = await session.generate({ ...sampled, maxTokens: 60 }).result;
      expect(answers[i]).toEqual({ made, logprobs });
      await session.dispose();
    }
    await small.dispose();
  });
});
