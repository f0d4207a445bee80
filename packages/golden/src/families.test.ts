import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Checkpoint, convertToGguf, openCheckpoint } from '@hearth/checkpoint';
import { type Backend, UnsupportedError } from '@hearth/core';
import { buildModel, modelFamilies } from '@hearth/models';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, describe, expect, it } from 'vitest';
import { kernelsOrNull } from './__fixtures__/kernels-or-null.ts';
import { describeReport } from './describe-report.ts';
import { bundledGoldens } from './find-goldens.ts';
import { openGoldenModel } from './golden-model.ts';
import type { Goldens } from './goldens.ts';
import { type ReplayReport, replayGoldens } from './replay.ts';
import { singleBatch } from './single-batch.ts';
import { weightSources } from './weights.ts';

/** Every fixture that brings its weights: one or more of each family. */
const fixtures = (await bundledGoldens()).filter(({ manifest }) => manifest.model.directory !== null);
/** What a GGUF file of the architecture has no key for; the writer says so by name. */
const beyondGguf: Readonly<Record<string, string>> = {
  'hearth/tiny-gemma2-scalar': 'query_pre_attn_scalar',
  'hearth/tiny-gemma3-scalar': 'query_pre_attn_scalar',
  'hearth/tiny-llama-dynamic': 'dynamic',
  'hearth/tiny-qwen3-moe-mixed': 'mlp_only_layers',
};
const reference = createReferenceBackend();
const kernels = await kernelsOrNull();

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

/** The same model in a GGUF file of our own writing, while `use` runs. */
async function withGguf<T>(
  goldens: Goldens,
  backend: Backend,
  use: (checkpoint: Checkpoint) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-golden-'));
  try {
    const path = join(directory, 'model.gguf');
    await withModel(goldens, backend, (source) => convertToGguf(source, path, { dtype: 'f32' }));
    const checkpoint = await openCheckpoint(path, { fileMapper: backend.fileMapper });
    try {
      return await use(checkpoint);
    } finally {
      await checkpoint.close();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

describe('the fixtures', () => {
  it('cover every family that Hearth knows, and no other', () => {
    const covered = fixtures.map(({ manifest }) => architectureOf(manifest.model.config));
    expect([...new Set(covered)].sort()).toEqual(Object.keys(modelFamilies).sort());
  });
});

describe.each(fixtures.map((goldens) => ({ id: goldens.manifest.model.id, goldens })))('$id', ({ id, goldens }) => {
  const replay = (backend: Backend) => (checkpoint: Checkpoint) => replayGoldens({ checkpoint, backend, goldens });

  let replayed: Promise<ReplayReport> | undefined;
  const onReference = () => (replayed ??= withModel(goldens, reference, replay(reference)));

  it('is computed on the reference as Transformers computes it: tables, boundaries, cache and greedy tokens', async () => {
    expectEqual(await onReference(), goldens);
  });

  it.skipIf(!kernels)('has on the native kernels the very values and tokens of the reference', async () => {
    const native = await withModel(goldens, kernels!, replay(kernels!));
    expect({ ...native, backend: null }).toEqual({ ...(await onReference()), backend: null });
  });

  it.skipIf(!kernels)('has the same bits of all logits on both backends, read whole and in pieces', async () => {
    const whole = await logitBits(goldens, reference, Number.POSITIVE_INFINITY);
    expect(await logitBits(goldens, kernels!, Number.POSITIVE_INFINITY)).toEqual(whole);
    expect(await logitBits(goldens, kernels!, 7)).toEqual(whole);
  });

  const refused = beyondGguf[id];
  if (refused) {
    it(`is refused by the writer of GGUF files, for its ${refused}`, async () => {
      const written = withGguf(goldens, reference, async () => {});
      await expect(written).rejects.toThrow(UnsupportedError);
      await expect(written).rejects.toThrow(refused);
    });
  } else {
    it('is the same from a GGUF file of our own writing, on either backend', async () => {
      for (const backend of kernels ? [reference, kernels] : [reference]) {
        expectEqual(await withGguf(goldens, backend, replay(backend)), goldens);
      }
    });
  }
});

function architectureOf({ architectures, model_type: type }: Readonly<Record<string, unknown>>): string {
  // The manifest of the first fixture names the type alone.
  return type === 'llama' ? 'LlamaForCausalLM' : (architectures as [string])[0];
}

/** Everything was compared, and nothing differs. */
function expectEqual(report: ReplayReport, { manifest }: Goldens): void {
  expect(describeReport(report).filter((line) => line.startsWith('WRONG'))).toEqual([]);
  expect(report.comparisons.map(({ key }) => key)).toEqual([...manifest.tensors.keys()].filter(isComputed));
  expect(report.greedy.map(({ name, mode, got }) => ({ name, mode, got }))).toEqual(
    manifest.greedy.prompts.map(({ name, runs }) => ({ name, mode: 'generated', got: runs.float32.ids })),
  );
  expect(report.passed).toBe(true);
}

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
