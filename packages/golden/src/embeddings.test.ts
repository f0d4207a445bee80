// Embeddings against Transformers: the mean of all rows after the final norm, of length 1 (tools/golden/embeddings.py).
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Backend } from '@hearth/core';
import { loadModel } from '@hearth/engine';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, describe, expect, it } from 'vitest';
import { kernelsOrNull } from './__fixtures__/kernels-or-null.ts';
import { compareTensor } from './compare.ts';
import type { Tolerance } from './manifest.ts';

interface GoldenEmbedding {
  readonly ids: readonly number[];
  readonly embedding: readonly number[];
  readonly tolerance: Tolerance;
}

const fixtures = fileURLToPath(new URL('../fixtures/', import.meta.url));
const goldens: Record<string, GoldenEmbedding> = JSON.parse(
  await readFile(`${fixtures}embeddings.json`, 'utf8'),
).models;
const reference = createReferenceBackend();
const kernels = await kernelsOrNull();

afterAll(async () => {
  await reference.dispose();
  await kernels?.dispose();
});

describe.each(Object.entries(goldens))('%s', (name, { ids, embedding, tolerance }) => {
  let onReference: Promise<Float32Array> | undefined;
  const embed = async (backend: Backend, maxTokensPerStep: number) => {
    const path = `${fixtures}${name}/model`;
    const model = await loadModel(path, { backend, cacheDtype: 'f32', contextLength: 64, maxTokensPerStep });
    try {
      return await model.embed(ids);
    } finally {
      await model.dispose();
    }
  };

  it('is embedded as Transformers does', async () => {
    const expected = Float32Array.from(embedding);
    const shape = [expected.length];
    onReference ??= embed(reference, 64);
    const got = await onReference;
    expect(compareTensor(`${name}/embedding`, expected, got, { shape, tolerance })).toMatchObject({ passed: true });
  });

  it.skipIf(!kernels)('is embedded on the kernels to the bits of the reference, in pieces', async () => {
    onReference ??= embed(reference, 64);
    expect(await embed(kernels!, 7)).toEqual(await onReference);
  });
});

it('covers every tiny model that brings its weights', () => {
  expect(Object.keys(goldens).length).toBeGreaterThanOrEqual(9);
});
