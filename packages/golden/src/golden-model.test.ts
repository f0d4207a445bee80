import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { bundledGoldens, findGoldens } from './find-goldens.ts';
import { openGoldenModel } from './golden-model.ts';

const all = new Map((await bundledGoldens()).map((goldens) => [goldens.manifest.model.id, goldens]));

describe('openGoldenModel', () => {
  it('takes the configuration of a fixture that shares the weights of another', async () => {
    const plain = await openGoldenModel(all.get('hearth/tiny-llama')!);
    const scaled = await openGoldenModel(all.get('hearth/tiny-llama-yarn')!);
    expect(plain.config.rope_scaling).toBeNull();
    expect(scaled.config.rope_scaling).toMatchObject({ rope_type: 'yarn', factor: 4 });
    expect(scaled.path).toBe(plain.path);
    await Promise.all([plain.close(), scaled.close()]);
  });

  it('says that weights are elsewhere', async () => {
    const opened = openGoldenModel(all.get('HuggingFaceTB/SmolLM2-135M-Instruct')!);
    await expect(opened).rejects.toThrow(InvalidArgumentError);
    await expect(opened).rejects.toThrow(/SmolLM2-135M-Instruct come without its weights/);
  });
});

describe('findGoldens', () => {
  it('finds every fixture by its model, also those over the same weights', async () => {
    for (const goldens of all.values()) {
      if (goldens.manifest.model.directory === null) continue;
      const checkpoint = await openGoldenModel(goldens);
      const found = await findGoldens(checkpoint, [...all.values()]);
      await checkpoint.close();
      expect(found?.manifest.model.id).toBe(goldens.manifest.model.id);
    }
  });
});
