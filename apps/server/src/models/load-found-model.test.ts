import { fileURLToPath } from 'node:url';
import type { LoadReporter } from '@hearth/command-line';
import { openBackend } from '@hearth/command-line';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { settingsSchema } from '../settings/settings.ts';
import { findModels } from './find-models.ts';
import { loadFoundModel } from './load-found-model.ts';

const tinyLlama = fileURLToPath(new URL('../../../../packages/golden/fixtures/tiny-llama/model', import.meta.url));
const machine = { backend: 'reference', fileAccess: 'map' } as const;
const { signal } = new AbortController();
const sentences: string[] = [];
const reporter: LoadReporter = {
  say: (sentence) => sentences.push(sentence),
  warn: (sentence) => sentences.push(`warning: ${sentence}`),
  progress: () => ({ update() {}, stop() {} }),
};

let backend: Awaited<ReturnType<typeof openBackend>>;

beforeAll(async () => {
  backend = await openBackend(machine);
});

// It refuses to be disposed while a model has left something in it.
afterAll(() => backend.dispose());

async function load(model: Record<string, unknown>) {
  const settings = settingsSchema.parse({ models: [{ source: tinyLlama, ...model }] });
  const [found] = await findModels(settings, signal);
  return loadFoundModel(found!, { backend, machine, reporter, signal });
}

it.each([
  [{ context: 64 }, 256],
  [{ context: 4096 }, 16_384],
  [{ context: 5000 }, 16_384],
  [{ context: 64, cacheTokens: 96 }, 96],
  // 256 bytes a position, blocks of 32.
  [{ context: 64, cacheMemory: '100kB' }, 384],
  // Half as much in either model.
  [{ context: 64, cacheMemory: '100kB', draftModel: tinyLlama }, 192],
])('gives the cache of a model with %j room for %i positions', async (model, cacheTokens) => {
  const { model: loaded, dispose } = await load(model);
  expect(loaded.info.cacheTokens).toBe(cacheTokens);
  await dispose();
});

it('takes on as many requests as the settings say', async () => {
  const { model, dispose } = await load({ context: 64, maxSequences: 100, maxQueued: 1, cacheTokens: 6400 });
  const generate = (id: number) => model.createSession({ tokenIds: [1, id] }).generate({ maxTokens: 1 }).result;
  const results = Array.from({ length: 101 }, (_, i) => generate(i));
  expect(() => generate(101)).toThrow(/101 requests wait already/);
  expect((await Promise.all(results)).map(({ usage }) => usage.completionTokens)).toEqual(Array(101).fill(1));
  await dispose();
});

it('guesses with a draft model, and says what the caches come to', async () => {
  sentences.length = 0;
  const { model, dispose } = await load({ context: 64, draftModel: tinyLlama });
  const { speculation } = await model.createSession({ tokenIds: [1, 2, 3] }).generate({ maxTokens: 16, temperature: 0 })
    .result;
  expect(speculation!.acceptedTokens).toBeGreaterThan(0);
  expect(sentences).toEqual([expect.stringMatching(/^KV cache of 256 positions in each model: /)]);
  await dispose();
});

it('leaves nothing behind when it fails', async () => {
  await expect(load({ context: 1e9 })).rejects.toThrow(/contextLength must be/);
  await expect(load({ context: 64, cacheTokens: 1e12 })).rejects.toThrow(/cacheTokens must be/);
});
