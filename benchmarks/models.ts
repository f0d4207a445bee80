import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { llama1BShape, writeSyntheticLlama } from '@hearth/checkpoint';
import { resolveModel } from '@hearth/hub';

/** A model that benchmarks run, as a GGUF file that every engine reads. */
export interface BenchmarkModel {
  readonly path: string;
  readonly shape: string;
  readonly format: string;
}

const directory = fileURLToPath(new URL('../.cache/benchmark-models/', import.meta.url));

/** The real SmolLM2, and random weights in the shape of a 1.1B Llama (speed does not depend on the values). */
const models: Readonly<Record<string, () => Promise<BenchmarkModel>>> = {
  smollm2: async () => {
    const { path } = await resolveModel('smollm2:135m');
    return { path, shape: 'smollm2-135m', format: 'q4_1' };
  },
  'llama-1.1b': async () => {
    const path = join(directory, 'llama-1.1b-q4_0.gguf');
    if (!existsSync(path)) {
      mkdirSync(directory, { recursive: true });
      await writeSyntheticLlama(path, { shape: llama1BShape, dtype: 'q4_0' });
    }
    return { path, shape: 'llama-1.1b', format: 'q4_0' };
  },
};

export const benchmarkModelNames = Object.keys(models);

/** Fetches or writes the model, once. */
export function benchmarkModel(name: string): Promise<BenchmarkModel> {
  const make = models[name];
  if (!make) throw new Error(`There is no benchmark model ${name}; there are ${benchmarkModelNames.join(', ')}.`);
  return make();
}
