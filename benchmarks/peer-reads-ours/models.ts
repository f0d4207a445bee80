import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { llama1BShape, writeSyntheticLlama } from '@hearth/checkpoint';
import { resolveModel } from '@hearth/hub';

export interface SourceModel {
  readonly name: string;
  readonly path: string;
}

/** The real SmolLM2. Its rows of 576 fit no block of 256, its rows of 1,536 do: K types come with their stand-ins. */
export async function smollm2(spec: string): Promise<SourceModel> {
  return { name: 'smollm2-135m', path: (await resolveModel(spec)).path };
}

/** Random weights in the widths of a 1.1B Llama, which fit every type; two layers, so that f32 files stay small. */
export async function llama2048(directory: string): Promise<SourceModel> {
  const path = join(directory, 'llama-2048.gguf');
  if (!existsSync(path)) {
    await writeSyntheticLlama(path, { shape: { ...llama1BShape, numLayers: 2, vocabSize: 512 }, dtype: 'f16' });
  }
  return { name: 'llama-2048', path };
}
