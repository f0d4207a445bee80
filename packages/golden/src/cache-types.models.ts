// What a cache type costs on a real model: perplexity, top-1 agreement and KL divergence against the same weights with a cache
// of f32, and that its text makes sense. Not in CI: `pnpm test:models`; the table is kept in docs/perplexity.md.
import { readFile } from 'node:fs/promises';
import type { CacheDtype } from '@hearth/core';
import { loadModel, type Model, perplexity } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { afterAll, describe, expect, it } from 'vitest';
import { cachedModelPath } from './__fixtures__/cached-model.ts';

const name = 'smollm2:135m';
const numTokens = 512;

const text = await readFile(new URL('../../../benchmarks/texts/alice.txt', import.meta.url), 'utf8');
const path = await cachedModelPath(name);
const backend = await createCpuBackend();
afterAll(() => backend.dispose());

const load = (cacheDtype: CacheDtype): Promise<Model> =>
  loadModel(path!, { backend, cacheDtype, contextLength: 512, maxOutputRows: 128 });

describe.skipIf(!path)(path ? name : `${name} (skipped: not in the cache, hearth pull ${name})`, () => {
  it('loses little with a cache of f16, and not much with q8', async () => {
    const exact = await load('f32');
    const meanKl: Partial<Record<CacheDtype, number>> = {};
    for (const cacheDtype of ['f16', 'q8'] as const) {
      const model = await load(cacheDtype);
      const ids = await model.tokenizer.encode(text, { addBos: false });
      const result = await perplexity(model, ids.subarray(0, numTokens), { window: 512, against: exact });
      const against = result.against!;
      meanKl[cacheDtype] = against.meanKl;
      console.info(
        `| ${cacheDtype} | ${model.info.kvBytesPerToken} | ${result.perplexity.toFixed(3)} | ${against.perplexity.toFixed(3)} | ${(100 * against.top1Agreement).toFixed(2)}% | ${against.meanKl.toFixed(5)} |`,
      );
      expect(Math.abs(result.perplexity / against.perplexity - 1)).toBeLessThan(0.02);
      await model.dispose();
    }
    await exact.dispose();
    expect(meanKl.f16).toBeLessThan(meanKl.q8!);
    expect(meanKl.q8).toBeLessThan(0.01);
  });

  it('answers with a cache of q8', async () => {
    const model = await load('q8');
    const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
    const tokenIds = await model.renderChat(messages);
    const session = model.createSession({ tokenIds });
    const { text: answer } = await session.generate({ temperature: 0, maxTokens: 24 }).result;
    await model.dispose();
    console.info(answer);
    expect(answer).toContain('Rayleigh scattering');
  });
});
