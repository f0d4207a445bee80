import type { Checkpoint } from '@hearth/checkpoint';
import type { Backend } from '@hearth/core';
import { createCpuBackend, KernelsLoadError } from '@hearth/kernels';
import { buildModel, modelFamilies } from '@hearth/models';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, describe, expect, it } from 'vitest';
import { describeReport } from './describe-report.ts';
import { bundledGoldens } from './find-goldens.ts';
import { openGoldenModel } from './golden-model.ts';
import type { Goldens } from './goldens.ts';
import { replayGoldens } from './replay.ts';
import { singleBatch } from './single-batch.ts';
import { weightSources } from './weights.ts';

/** Every fixture that brings its weights: one or more of each family. */
const fixtures = (await bundledGoldens())
  .filter(({ manifest }) => manifest.model.directory !== null)
  .filter(({ manifest }) => {
    const [architecture] = (manifest.model.config.architectures as string[] | undefined) ?? ['LlamaForCausalLM'];
    return Object.hasOwn(modelFamilies, architecture!);
  });
const reference = createReferenceBackend();
/** The native kernels, where they are built; the checks that everything runs say when they are not. */
const kernels = await createCpuBackend({ numThreads: 2 }).catch((error: unknown) => {
  if (error instanceof KernelsLoadError) return null;
  throw error;
});

afterAll(async () => {
  await reference.dispose();
  await kernels?.dispose();
});

async function withModel<T>(
  goldens: Goldens,
  backend: Backend,
  use: (checkpoint: Checkpoint) => Promise<T>,
): Promise<T> {
  const checkpoint = await openGoldenModel(goldens, { fileMapper: backend.fileMapper });
  try {
    return await use(checkpoint);
  } finally {
    await checkpoint.close();
  }
}

describe.each(fixtures.map((goldens) => ({ id: goldens.manifest.model.id, goldens })))('$id', ({ goldens }) => {
  it('is computed on the reference as Transformers computes it: tables, boundaries, cache and greedy tokens', async () => {
    const report = await withModel(goldens, reference, (checkpoint) =>
      replayGoldens({ checkpoint, backend: reference, goldens }),
    );
    expect(describeReport(report).filter((line) => line.startsWith('WRONG'))).toEqual([]);
    expect(report.comparisons).toHaveLength([...goldens.manifest.tensors.keys()].filter(isComputed).length);
    expect(report.greedy.every(({ mode }) => mode === 'generated')).toBe(true);
    expect(report.passed).toBe(true);
  });

  it.skipIf(!kernels)('has on the native kernels the very values and tokens of the reference', async () => {
    const [native, readable] = await Promise.all(
      [kernels!, reference].map((backend) =>
        withModel(goldens, backend, (checkpoint) => replayGoldens({ checkpoint, backend, goldens })),
      ),
    );
    expect({ ...native, backend: null }).toEqual({ ...readable, backend: null });
  });

  it.skipIf(!kernels)('has the same bits of all logits on both backends, read whole and in pieces', async () => {
    const whole = await logitBits(goldens, reference, Number.POSITIVE_INFINITY);
    expect(await logitBits(goldens, kernels!, Number.POSITIVE_INFINITY)).toEqual(whole);
    expect(await logitBits(goldens, kernels!, 7)).toEqual(whole);
  });
});

/** Inputs of other goldens, and the weight that a model is known by, are not computed. */
function isComputed(key: string): boolean {
  return !key.startsWith('weights/') && key !== 'rms_norm/input' && key !== 'rms_norm/weight';
}

/** The bits of the logits after each token of the longest prompt, over an f16 cache as users have it. */
async function logitBits(goldens: Goldens, backend: Backend, chunkSize: number): Promise<Uint32Array> {
  const { model, greedy } = goldens.manifest;
  const ids = greedy.prompts.map(({ promptIds }) => promptIds).reduce((a, b) => (b.length > a.length ? b : a));
  return withModel(goldens, backend, async (checkpoint) => {
    const {
      createProgram,
      weights: specs,
      vocabSize,
    } = await buildModel(checkpoint.config, {
      tensorNames: checkpoint.tensors.keys(),
      contextLength: model.contextLength,
    });
    const weights = await backend.loadWeights(specs, weightSources(checkpoint, specs, 'stored'));
    const executable = await backend.compile(createProgram(), weights, {
      maxTokens: ids.length,
      maxOutputRows: ids.length,
      cache: { dtype: 'f16', blockSize: 16, numBlocks: Math.ceil(ids.length / 16) },
    });
    const { cache, program } = executable;
    await cache.zeroBlocks(Int32Array.from({ length: cache.numBlocks }, (_, block) => block));
    const bits = new Uint32Array(ids.length * vocabSize);
    for (let start = 0; start < ids.length; start += chunkSize) {
      const chunk = ids.slice(start, start + chunkSize);
      const rows = chunk.map((_, row) => row);
      const { logits } = await executable.step(singleBatch(chunk, start, rows, cache, program.cacheGroups.length));
      bits.set(new Uint32Array(Float32Array.from(logits!).buffer), start * vocabSize);
    }
    await executable.dispose();
    await weights.dispose();
    return bits;
  });
}
