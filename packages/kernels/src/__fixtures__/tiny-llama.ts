import type { Backend, CacheDtype, Executable, Program, WeightDtype, WeightSource } from '@hearth/core';
import type { LowerOptions } from '@hearth/graph';
import { buildModel, type Model } from '@hearth/models';
import { disposeAtEnd } from './backends.ts';
import { randomFloats, seededRandom } from './random.ts';
import { weightSource } from './weight-source.ts';

/** A Llama with grouped queries, small enough to run in a millisecond; all widths are multiples of 32. */
export const tinyLlamaConfig = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 64,
  intermediate_size: 96,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 96,
  max_position_embeddings: 2048,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  hidden_act: 'silu',
  tie_word_embeddings: true,
};

/** Random weights for a model; norms are near 1, matrices scaled so that activations stay near 1. */
export function randomSources(model: Model, dtype: WeightDtype = 'f32', seed = 1): Map<string, WeightSource> {
  const random = seededRandom(seed);
  return new Map(
    model.weights.map(({ name, role, shape }) => {
      if (role === 'vector') {
        const values = randomFloats(random, shape[0]!, 0.2).map((value) => value + 1);
        return [name, weightSource(name, shape, values)];
      }
      const values = randomFloats(random, shape[0]! * shape[1]!, 1.5 / Math.sqrt(shape[1]!));
      return [name, weightSource(name, shape, values, dtype)];
    }),
  );
}

export interface TinyOptions {
  readonly config?: Record<string, unknown>;
  readonly dtype?: WeightDtype;
  readonly cacheDtype?: CacheDtype;
  readonly blockSize?: number;
  readonly numBlocks?: number;
  readonly maxTokens?: number;
  readonly lower?: LowerOptions;
  /** Changes weights before they are loaded. */
  readonly edit?: (sources: Map<string, WeightSource>) => void;
  /** Changes the program before it is compiled. */
  readonly editProgram?: (program: Program) => Program;
}

/** A tiny Llama, loaded and compiled; disposed when the test file ends. */
export async function tinyLlama(backend: Backend, options: TinyOptions = {}): Promise<Executable> {
  const model = await buildModel({ ...tinyLlamaConfig, ...options.config });
  const sources = randomSources(model, options.dtype);
  options.edit?.(sources);
  const weights = await backend.loadWeights(model.weights, sources);
  disposeAtEnd(weights);
  const program = model.createProgram(options.lower);
  const executable = await backend.compile(options.editProgram?.(program) ?? program, weights, {
    maxTokens: options.maxTokens ?? 256,
    maxOutputRows: 64,
    cache: {
      dtype: options.cacheDtype ?? 'f16',
      blockSize: options.blockSize ?? 16,
      numBlocks: options.numBlocks ?? 64,
    },
  });
  disposeAtEnd(executable);
  return executable;
}
