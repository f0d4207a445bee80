import type { Backend, Batch, Executable, Weights } from '@hearth/core';
import type { Model } from '@hearth/models';
import type { GoldenManifest } from './manifest.ts';
import { singleBatch } from './single-batch.ts';

/** Any of the sizes will do; the smallest takes the least memory. */
const blockSize = 16;

/**
 * Runs the prompt in one step and one token after it, over a cache in f32, and returns everything that the manifest has
 * goldens for: `prefill/…`, `decode/…` and `cache/…`, by key.
 */
export async function computeSteps(
  backend: Backend,
  model: Model,
  weights: Weights,
  manifest: GoldenManifest,
  signal?: AbortSignal,
): Promise<Map<string, Float32Array>> {
  const keys = [...manifest.tensors.keys()];
  const boundaries = keys.filter((key) => key.startsWith('prefill/')).map((key) => key.slice('prefill/'.length));
  const prompt = manifest.prefill.ids;
  const next = manifest.decode.ids;
  const numPositions = prompt.length + next.length;
  const executable = await backend.compile(model.createProgram({ captures: boundaries }), weights, {
    maxTokens: Math.max(prompt.length, next.length),
    maxOutputRows: 1,
    cache: { dtype: 'f32', blockSize, numBlocks: Math.ceil(numPositions / blockSize) },
  });
  try {
    const { cache, program } = executable;
    const all = Int32Array.from({ length: cache.numBlocks }, (_, block) => block);
    await cache.zeroBlocks(all);
    const computed = new Map<string, Float32Array>();
    const run = async (phase: string, batch: Batch) => {
      const captures = await runStep(executable, batch, signal);
      for (const [name, values] of captures) computed.set(`${phase}/${name}`, values);
    };
    const keepCache = async (when: string, positions: number) => {
      const { k, v } = await cache.readLayer(0, all, positions);
      computed.set(`cache/${when}/k`, k).set(`cache/${when}/v`, v);
    };
    await run('prefill', singleBatch(prompt, 0, [prompt.length - 1], cache, program.cacheGroups.length));
    await keepCache('before', prompt.length);
    await run('decode', singleBatch(next, prompt.length, [next.length - 1], cache, program.cacheGroups.length));
    await keepCache('after', numPositions);
    return computed;
  } finally {
    await executable.dispose();
  }
}

async function runStep(
  executable: Executable,
  batch: Batch,
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Float32Array>> {
  const { captures } = await executable.step(batch, signal ? { signal } : {});
  return captures ?? new Map();
}

/** The last rows of a tensor [rows, width], as many as the golden has. */
export function lastRows(values: Float32Array, shape: readonly number[]): Float32Array {
  const numElements = shape.reduce((product, size) => product * size, 1);
  return values.subarray(Math.max(0, values.length - numElements));
}
