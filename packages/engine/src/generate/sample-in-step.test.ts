import { fileURLToPath } from 'node:url';
import type { Backend, RowOutput } from '@hearth/core';
import { createCpuBackend } from '@hearth/kernels';
import { createReferenceBackend } from '@hearth/reference';
import { createTokenMask, NoTokenAllowedError } from '@hearth/sampler';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hasKernels } from '../model/__fixtures__/has-kernels.ts';
import { loadModel } from '../model/load-model.ts';
import type { Model } from '../model/model.ts';
import type { GenerateOptions } from './generate-options.ts';

const path = fileURLToPath(new URL('../../../golden/fixtures/tiny-llama/model', import.meta.url));

/** The same backend, with what its steps were asked for on record, and without sampling in the step if that is wanted. */
function watched(backend: Backend, canSampleInStep: boolean): { backend: Backend; kinds: RowOutput['kind'][] } {
  const kinds: RowOutput['kind'][] = [];
  const watching: Backend = {
    info: { ...backend.info, canSampleInStep },
    fileMapper: backend.fileMapper,
    loadWeights: (...args) => backend.loadWeights(...args),
    compile: async (...args) => {
      const executable = await backend.compile(...args);
      return {
        program: executable.program,
        cache: executable.cache,
        step: (batch, options) => {
          if (options?.output?.kind === 'rows') kinds.push(...options.output.rows.map((row) => row.kind));
          return executable.step(batch, options);
        },
        dispose: () => executable.dispose(),
      };
    },
    dispose: () => backend.dispose(),
  };
  return { backend: watching, kinds };
}

describe.skipIf(!hasKernels())('sampling within the step', () => {
  let cpu: Backend;
  const ways: { model: Model; kinds: RowOutput['kind'][] }[] = [];

  beforeAll(async () => {
    cpu = await createCpuBackend({ numThreads: 2 });
    const reference = createReferenceBackend();
    for (const way of [watched(cpu, true), watched(cpu, false), watched(reference, reference.info.canSampleInStep)]) {
      const model = await loadModel(path, { backend: way.backend, contextLength: 128 });
      ways.push({ model, kinds: way.kinds });
    }
  });

  afterAll(async () => {
    for (const { model } of ways) await model.dispose();
    await cpu.dispose();
  });

  /** What the three ways generate, and what they asked their steps for. */
  async function generate(options: GenerateOptions) {
    const results = [];
    for (const { model, kinds } of ways) {
      kinds.length = 0;
      const session = model.createSession({ tokenIds: [5, 6, 7] });
      const { text, tokenIds } = await session.generate({ maxTokens: 24, ignoreEos: true, ...options }).result;
      await session.dispose();
      results.push({ text, tokenIds, kinds: [...new Set(kinds)] });
    }
    return results;
  }

  it.each<GenerateOptions>([
    { temperature: 0 },
    { seed: 1 },
    { seed: 2n ** 64n - 1n, temperature: 0.7, topK: 20, topP: 0.9 },
    { seed: -5, temperature: 1.5, minP: 0.02 },
    { seed: 3, topK: 1, choiceIndex: 4 },
  ])('gives the tokens of the TypeScript sampler: %o', async (options) => {
    const [inStep, apart, reference] = await generate(options);
    expect(inStep!.kinds).toEqual(['sample']);
    expect(apart!.kinds).toEqual(['logits']);
    expect(reference!.kinds).toEqual(['sample']);
    expect(inStep!.tokenIds).toHaveLength(24);
    expect(apart).toMatchObject({ text: inStep!.text, tokenIds: inStep!.tokenIds });
    expect(reference).toMatchObject({ text: inStep!.text, tokenIds: inStep!.tokenIds });
  });

  it('gives other tokens for another seed', async () => {
    const [first] = await generate({ seed: 1 });
    const [second] = await generate({ seed: 2 });
    expect(first!.tokenIds).not.toEqual(second!.tokenIds);
  });

  it.each<[string, GenerateOptions]>([
    ['a bias', { logitBias: { 3: 5 } }],
    ['a repetition penalty', { repetitionPenalty: 1.3 }],
    ['a window of it', { repetitionPenalty: 1.8, repetitionWindow: 4 }],
    ['a presence penalty', { presencePenalty: 0.5 }],
    ['a frequency penalty', { frequencyPenalty: -0.5 }],
    ['typical-p', { typicalP: 0.5 }],
    ['a mask', { mask: () => createTokenMask(ways[0]!.model.info.vocabSize, [40, 41, 42]) }],
  ])('has %s, with the tokens of the TypeScript sampler', async (_, options) => {
    const [inStep, apart, reference] = await generate({ seed: 1, ...options });
    expect(inStep!.kinds).toEqual(['sample']);
    expect(apart!.kinds).toEqual(['logits']);
    expect(apart!.tokenIds).toEqual(inStep!.tokenIds);
    expect(reference!.tokenIds).toEqual(inStep!.tokenIds);
  });

  it('leaves log-probabilities to the TypeScript sampler', async () => {
    const [first, ...others] = await generate({ seed: 1, logprobs: 2 });
    expect(first!.kinds).toEqual(['logits']);
    for (const other of others) expect(other).toEqual(first);
  });

  it('fails a generation whose mask allows no token, and nothing else', async () => {
    for (const { model } of ways) {
      const session = model.createSession({ tokenIds: [5, 6, 7] });
      const mask = (completion: readonly number[]) => {
        return completion.length < 2 ? undefined : new Uint32Array(Math.ceil(model.info.vocabSize / 32));
      };
      await expect(session.generate({ maxTokens: 9, ignoreEos: true, mask }).result).rejects.toThrow(
        NoTokenAllowedError,
      );
      await expect(session.generate({ maxTokens: 2 }).result).resolves.toBeDefined();
      await session.dispose();
    }
  });
});
