import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { settingsSchema } from '../settings/settings.ts';
import { findModels, withGeneralSettings } from './find-models.ts';

const tinyLlama = fileURLToPath(new URL('../../../../packages/golden/fixtures/tiny-llama/model', import.meta.url));
const { signal } = new AbortController();

function settingsOf(settings: Record<string, unknown>) {
  return settingsSchema.parse(settings);
}

describe('the settings of a model', () => {
  it('are its own before those of all models', () => {
    const settings = settingsOf({
      context: 100,
      speculate: true,
      maxQueued: 3,
      models: [{ source: 'a', context: 200, speculate: false }],
    });
    const merged = withGeneralSettings(settings.models[0]!, settings);
    expect(merged).toMatchObject({ source: 'a', context: 200, speculate: false, maxQueued: 3 });
  });

  it('say the size of its cache in one way', () => {
    const settings = settingsOf({ cacheTokens: 64, models: [{ source: 'a', cacheMemory: '1MB' }, { source: 'b' }] });
    const [a, b] = settings.models.map((model) => withGeneralSettings(model, settings));
    expect([a!.cacheTokens, a!.cacheMemory]).toEqual([undefined, 1e6]);
    expect([b!.cacheTokens, b!.cacheMemory]).toEqual([64, undefined]);
  });
});

describe('findModels', () => {
  it('calls a model by its own name, or by that of its file', async () => {
    const models = [{ source: tinyLlama }, { name: 'tiny', aliases: ['t'], source: tinyLlama, draftModel: tinyLlama }];
    const found = await findModels(settingsOf({ models }), signal);
    expect(found.map(({ name, aliases }) => [name, ...aliases])).toEqual([['model'], ['tiny', 't']]);
    expect(found[1]!.settings).toMatchObject({ source: tinyLlama, draftModel: tinyLlama });
  });

  it.each<[Record<string, unknown>, RegExp]>([
    [{ models: [{ source: tinyLlama }, { source: tinyLlama }] }, /Two models are called "model"/],
    [{ models: [{ source: tinyLlama, aliases: ['model'] }] }, /Two models are called "model"/],
    [{ models: [{ source: tinyLlama, speculateTokens: 2 }] }, /speculateTokens of .* needs speculate or draftModel/],
    [{ models: [{ source: './nowhere.gguf' }] }, /no file or directory .*nowhere\.gguf/],
    [{ models: [{ source: tinyLlama, draftModel: './nowhere.gguf' }] }, /no file or directory .*nowhere\.gguf/],
  ])('refuses %j', async (settings, message) => {
    await expect(findModels(settingsOf(settings), signal)).rejects.toThrow(message);
  });
});
