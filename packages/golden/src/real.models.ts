// The models that can be pulled by name, held against Transformers. Not in CI: `pnpm test:models` runs those that are in
// the cache (`hearth pull NAME`); its output is kept in docs/test-models.md.
import { openCheckpoint } from '@hearth/checkpoint';
import type { Backend } from '@hearth/core';
import { chat, loadModel, prepareModel } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { buildModel } from '@hearth/models';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, describe, expect, it } from 'vitest';
import { cachedModelPath } from './__fixtures__/cached-model.ts';
import { type RealGoldens, realGoldens } from './real-goldens.ts';
import { generate } from './replay-greedy.ts';
import { weightSources } from './weights.ts';

const goldens = await realGoldens();
const paths = await Promise.all(goldens.map(({ name }) => cachedModelPath(name)));
const native = await createCpuBackend();
const reference = createReferenceBackend();
afterAll(async () => {
  await native.dispose();
  await reference.dispose();
});

for (const [index, model] of goldens.entries()) {
  const isCached = paths[index] !== null;
  const path = paths[index]!;
  const title = isCached ? model.name : `${model.name} (skipped: not in the cache, hearth pull ${model.name})`;

  describe.skipIf(!isCached)(title, () => {
    it('turns every prompt into the tokens of the original tokenizer', async () => {
      const prepared = await prepareModel(path, { backend: native, contextLength: 256 });
      try {
        for (const { kind, text, messages, promptIds } of model.prompts) {
          const ids = kind === 'chat' ? await prepared.renderChat(messages!) : await prepared.tokenizer.encode(text);
          expect([...ids]).toEqual(promptIds);
        }
      } finally {
        await prepared.dispose();
      }
    });

    it('in float32 on the kernels: the greedy tokens of Transformers', async () => {
      await expectSameTokens(path, native, model);
    });

    // The reference takes minutes for these and half an hour for larger ones.
    if (model.sizeBytes < 1e9) {
      it('in float32 on the reference: the greedy tokens of Transformers', async () => {
        await expectSameTokens(path, reference, model);
      });
    }

    it('as stored: a text to read', async () => {
      console.info(`${model.name}:\n${await sampleText(path, model)}`);
    });
  });
}

/** Runs the prompts with all weights decoded, over a cache in f32. */
async function expectSameTokens(path: string, backend: Backend, { prompts }: RealGoldens): Promise<void> {
  const longest = Math.max(...prompts.map(({ promptIds, ids }) => promptIds.length + ids.length));
  const opened: { dispose(): Promise<void> }[] = [];
  const checkpoint = await openCheckpoint(path, { fileMapper: backend.fileMapper });
  try {
    const definition = await buildModel(checkpoint.config, { tensorNames: checkpoint.tensors.keys() });
    const sources = weightSources(checkpoint, definition.weights, 'float32');
    const weights = await backend.loadWeights(definition.weights, sources);
    opened.push(weights);
    const executable = await backend.compile(definition.createProgram(), weights, {
      maxTokens: longest,
      maxOutputRows: 1,
      cache: { dtype: 'f32', blockSize: 16, numBlocks: Math.ceil(longest / 16) },
    });
    opened.push(executable);
    for (const { name, promptIds, ids } of prompts) {
      expect({ name, ids: await generate(executable, { promptIds }, ids) }).toEqual({ name, ids });
    }
  } finally {
    for (const resource of opened.reverse()) await resource.dispose();
    await checkpoint.close();
  }
}

/** A question answered through the template of the file; of a base model, which has none, a text continued. */
async function sampleText(path: string, { prompts }: RealGoldens): Promise<string> {
  const model = await loadModel(path, { backend: native, contextLength: 512 });
  try {
    const options = { maxTokens: 96, temperature: 0 };
    if (model.chatTemplate === null) {
      const { text } = prompts.find(({ kind }) => kind === 'raw')!;
      const session = model.createSession({ tokenIds: await model.tokenizer.encode(text) });
      const result = await session.generate(options).result;
      expect(result.usage.completionTokens).toBeGreaterThan(0);
      return text + result.text;
    }
    const content = 'Write a Python function that reverses a string.';
    const result = await (await chat(model, [{ role: 'user', content }], options)).result;
    expect(result.usage.completionTokens).toBeGreaterThan(0);
    return `> ${content}\n${result.text}`;
  } finally {
    await model.dispose();
  }
}
