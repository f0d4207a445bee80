import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { convertToHuggingFaceDirectory, openCheckpoint } from '@hearth/checkpoint';
import { type Backend, HearthError } from '@hearth/core';
import { resolveModel } from '@hearth/hub';
import { createCpuBackend } from '@hearth/kernels';
import { buildModel } from '@hearth/models';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, describe, expect, it } from 'vitest';
import { describeReport } from './describe-report.ts';
import { findGoldens } from './find-goldens.ts';
import { type ReplayOptions, type ReplayReport, replayGoldens } from './replay.ts';
import { singleBatch } from './single-batch.ts';
import { weightSources } from './weights.ts';

/** The default model, as `npm test` fetches it, and the kernels; without one of them there is nothing to run. */
const model = await resolveModel('smollm2:135m', { offline: true }).catch(missing);
const kernels = await createCpuBackend({ numThreads: 2 }).catch(missing);

function missing(error: unknown): null {
  if (HearthError.isInstance(error)) return null;
  throw error;
}

afterAll(() => kernels?.dispose());

async function replay(path: string, backend: Backend, options: Partial<ReplayOptions> = {}): Promise<ReplayReport> {
  const checkpoint = await openCheckpoint(path, { fileMapper: backend.fileMapper });
  try {
    const goldens = await findGoldens(checkpoint);
    expect(goldens?.manifest.model.id).toBe('HuggingFaceTB/SmolLM2-135M-Instruct');
    return await replayGoldens({ checkpoint, backend, goldens: goldens!, ...options });
  } finally {
    await checkpoint.close();
  }
}

/** The model as a Hugging Face directory, written by our own writer. */
async function withDirectory(dtype: 'f32' | 'bf16', use: (path: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), `hearth-smollm2-${dtype}-`));
  try {
    const checkpoint = await openCheckpoint(model!.path, { fileMapper: kernels!.fileMapper });
    try {
      await convertToHuggingFaceDirectory(checkpoint, directory, { dtype });
    } finally {
      await checkpoint.close();
    }
    await use(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

describe.skipIf(!model || !kernels)('SmolLM2-135M-Instruct on the native kernels', () => {
  it('computes with float32 weights what Transformers computes: every boundary and the greedy tokens', async () => {
    await withDirectory('f32', async (directory) => {
      const report = await replay(directory, kernels!, { weights: 'stored' });
      expect(describeReport(report).filter((line) => line.startsWith('WRONG'))).toEqual([]);
      expect(report.comparisons).toHaveLength(102);
      expect(report.greedy.map(({ mode, firstDifference }) => [mode, firstDifference])).toEqual(
        Array.from({ length: 5 }, () => ['generated', null]),
      );
      expect(report.passed).toBe(true);
    });
  });

  it('gives with bfloat16 weights the greedy tokens of Transformers on the same weights', async () => {
    await withDirectory('bf16', async (directory) => {
      const report = await replay(directory, kernels!);
      expect(report).toMatchObject({ weights: 'stored', run: 'bfloat16', passed: true });
      expect(report.greedy.map(({ mode, firstDifference }) => [mode, firstDifference])).toEqual(
        Array.from({ length: 5 }, () => ['generated', null]),
      );
    });
  });

  it('decodes the quantized file to the very weights of the goldens', async () => {
    const report = await replay(model!.path, kernels!, { prompts: [] });
    expect(report.wrongWeights).toEqual([]);
    expect(report.firstMismatch).toBeNull();
  });

  it('agrees with quantized weights on nearly all tokens', async () => {
    const { greedy, ...report } = await replay(model!.path, kernels!, { weights: 'stored' });
    console.info(describeReport({ greedy, ...report }).join('\n'));
    const total = greedy.reduce((sum, { expected }) => sum + expected.length, 0);
    const numEqual = greedy.reduce((sum, one) => sum + one.numEqual, 0);
    // Four bits with a minimum per 32 weights, and activations in 8 bits: 132 of 136 when this was written. A broken kernel
    // gets hardly any; how many a right one gets is a property of the model.
    expect(numEqual / total).toBeGreaterThan(0.9);
  });

  it('gives with quantized weights the bits of the reference', async () => {
    const reference = createReferenceBackend();
    const expected = await firstLogits(reference);
    await reference.dispose();
    expect(await firstLogits(kernels!)).toEqual(expected);
  });
});

/** The bits of the logits after a short prompt, computed over an f16 cache as users have it. */
async function firstLogits(backend: Backend): Promise<Uint32Array> {
  const checkpoint = await openCheckpoint(model!.path, { fileMapper: backend.fileMapper });
  try {
    const { createProgram, weights: specs } = await buildModel(checkpoint.config, {
      tensorNames: checkpoint.tensors.keys(),
    });
    const weights = await backend.loadWeights(specs, weightSources(checkpoint, specs, 'stored'));
    const executable = await backend.compile(createProgram(), weights, {
      maxTokens: 8,
      maxOutputRows: 1,
      cache: { dtype: 'f16', blockSize: 16, numBlocks: 1 },
    });
    await executable.cache.zeroBlocks(Int32Array.of(0));
    // Any four tokens: three in a chunk, one by itself.
    const ids = [9686, 2402, 253, 655];
    await executable.step(singleBatch(ids.slice(0, 3), 0, [], executable.cache, 1));
    const { logits } = await executable.step(singleBatch(ids.slice(3), 3, [0], executable.cache, 1));
    const bits = new Uint32Array(Float32Array.from(logits!).buffer);
    await executable.dispose();
    await weights.dispose();
    return bits;
  } finally {
    await checkpoint.close();
  }
}
