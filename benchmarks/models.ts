import { resolveModel } from '@hearth/hub';
import { ensureWritten, syntheticFile } from './synthetic/synthetic-file.ts';

/** A model that benchmarks run, as a GGUF file that every engine reads. */
export interface BenchmarkModel {
  readonly path: string;
  readonly shape: string;
  readonly format: string;
}

/** What benchmarks run unless they are told: the real SmolLM2, and random weights in the shape of a 1.1B Llama. */
export const benchmarkModelNames = ['smollm2', 'llama-1.1b'];

/**
 * Fetches or writes a model, once: the real SmolLM2 (`smollm2`), or random weights in a shape and format of `synthetic/`
 * (`qwen2.5-0.5b-q8_0`; q4_0 where no format is said), because speed does not depend on the values.
 */
export async function benchmarkModel(name: string): Promise<BenchmarkModel> {
  if (name === 'smollm2') {
    const { path } = await resolveModel('smollm2:135m');
    return { path, shape: 'smollm2-135m', format: 'q4_1' };
  }
  const [, shape = name, format = 'q4_0'] = /^(.+)-([a-z]+\d\w*)$/.exec(name) ?? [];
  const file = await syntheticFile(shape, format);
  await ensureWritten(file);
  return { path: file.path, shape: file.shape, format: file.format };
}
