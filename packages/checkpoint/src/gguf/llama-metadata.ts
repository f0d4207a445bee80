import { InvalidArgumentError, UnsupportedError } from '@hearth/core';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import type { GgufTypedValue } from './metadata-encoder.ts';
import { type Llama3RopeScaling, llama3FrequencyFactors } from './rope-frequencies.ts';

/** What a config.json becomes in a GGUF file: metadata, and for Llama 3 a tensor of frequency factors. */
export interface LlamaMetadata {
  readonly metadata: Map<string, GgufTypedValue | string | boolean>;
  readonly extraTensors: readonly TensorToWrite[];
}

/**
 * The metadata of a Llama from its config.json: the reverse of `llamaConfig`.
 * @throws InvalidArgumentError for a missing number, UnsupportedError for what GGUF cannot say; both name the field
 */
export function llamaMetadata(config: Readonly<Record<string, unknown>>): LlamaMetadata {
  if (config.model_type !== undefined && config.model_type !== 'llama') {
    throw new UnsupportedError(
      `Writing GGUF files of model_type "${config.model_type}" is not supported, only "llama".`,
    );
  }
  const metadata = new Map<string, GgufTypedValue | string | boolean>([['general.architecture', 'llama']]);
  const put = (key: string, type: 'u32' | 'f32', value: number | undefined) => {
    if (value !== undefined) metadata.set(key, { type, value });
  };
  const hiddenSize = requiredNumber(config, 'hidden_size');
  const numHeads = requiredNumber(config, 'num_attention_heads');
  const headDim = optionalNumber(config, 'head_dim') ?? hiddenSize / numHeads;
  const rope = ropeParameters(config);
  const ropeTheta = optionalNumber(rope, 'rope_theta') ?? optionalNumber(config, 'rope_theta') ?? 10_000;
  put('llama.vocab_size', 'u32', optionalNumber(config, 'vocab_size'));
  put('llama.context_length', 'u32', requiredNumber(config, 'max_position_embeddings'));
  put('llama.embedding_length', 'u32', hiddenSize);
  put('llama.block_count', 'u32', requiredNumber(config, 'num_hidden_layers'));
  put('llama.feed_forward_length', 'u32', requiredNumber(config, 'intermediate_size'));
  put('llama.attention.head_count', 'u32', numHeads);
  put('llama.attention.head_count_kv', 'u32', optionalNumber(config, 'num_key_value_heads') ?? numHeads);
  put('llama.attention.key_length', 'u32', headDim);
  put('llama.attention.value_length', 'u32', headDim);
  put('llama.attention.layer_norm_rms_epsilon', 'f32', requiredNumber(config, 'rms_norm_eps'));
  put('llama.attention.sliding_window', 'u32', optionalNumber(config, 'sliding_window'));
  put('llama.rope.dimension_count', 'u32', headDim);
  put('llama.rope.freq_base', 'f32', ropeTheta);
  putTokenIds(metadata, config);
  return { metadata, extraTensors: putRopeScaling(metadata, rope, ropeTheta, headDim) };
}

/** The ids that end a completion are end of text, of turn and of message, in this order, as `llamaConfig` reads them. */
function putTokenIds(metadata: LlamaMetadata['metadata'], config: Readonly<Record<string, unknown>>): void {
  const ends = Array.isArray(config.eos_token_id) ? config.eos_token_id : [config.eos_token_id];
  if (ends.length > 3) {
    throw new UnsupportedError(`eos_token_id of the config lists ${ends.length} ids; a GGUF file has room for three.`);
  }
  const [eos, eot, eom] = ends;
  const ids = { bos: config.bos_token_id, eos, eot, eom, padding: config.pad_token_id };
  for (const [name, id] of Object.entries(ids)) {
    const value = optionalNumber({ [`${name} token id`]: id }, `${name} token id`);
    if (value !== undefined) metadata.set(`tokenizer.ggml.${name}_token_id`, { type: 'u32', value });
  }
}

/** `rope_parameters` of newer configs holds what `rope_scaling` and `rope_theta` hold in older ones. */
function ropeParameters(config: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const rope = config.rope_parameters ?? config.rope_scaling ?? {};
  if (typeof rope === 'object' && !Array.isArray(rope)) return rope as Record<string, unknown>;
  throw new InvalidArgumentError('rope_scaling of the config must be an object or null.');
}

function putRopeScaling(
  metadata: LlamaMetadata['metadata'],
  rope: Readonly<Record<string, unknown>>,
  ropeTheta: number,
  headDim: number,
): TensorToWrite[] {
  const type = String(rope.rope_type ?? rope.type ?? 'default');
  if (rope.type !== undefined && rope.type !== null && rope.type !== type) {
    throw new InvalidArgumentError(`rope_scaling says both type "${rope.type}" and rope_type "${type}".`);
  }
  const prefix = 'llama.rope.scaling';
  switch (type) {
    case 'default':
      return [];
    case 'llama3': {
      const scaling: Llama3RopeScaling = {
        rope_type: 'llama3',
        factor: requiredNumber(rope, 'factor'),
        low_freq_factor: requiredNumber(rope, 'low_freq_factor'),
        high_freq_factor: requiredNumber(rope, 'high_freq_factor'),
        original_max_position_embeddings: requiredNumber(rope, 'original_max_position_embeddings'),
      };
      const factors = llama3FrequencyFactors(scaling, ropeTheta, headDim);
      return [
        {
          name: 'rope_freqs.weight',
          dtype: 'f32',
          shape: [factors.length],
          data: () => new Uint8Array(factors.buffer),
        },
      ];
    }
    case 'linear':
    case 'yarn':
      metadata.set(`${prefix}.type`, type);
      metadata.set(`${prefix}.factor`, { type: 'f32', value: requiredNumber(rope, 'factor') });
      break;
    default:
      throw new UnsupportedError(`rope_scaling type "${type}" cannot be written to a GGUF file.`);
  }
  if (type === 'yarn') {
    const original = optionalNumber(rope, 'original_max_position_embeddings');
    if (original !== undefined) metadata.set(`${prefix}.original_context_length`, { type: 'u32', value: original });
    for (const name of ['beta_fast', 'beta_slow']) {
      const beta = optionalNumber(rope, name);
      if (beta !== undefined) metadata.set(`${prefix}.yarn_${name}`, { type: 'f32', value: beta });
    }
  }
  return [];
}

function optionalNumber(fields: Readonly<Record<string, unknown>>, name: string): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  throw new InvalidArgumentError(`${name} of the config must be a number, got ${JSON.stringify(value)}.`);
}

function requiredNumber(fields: Readonly<Record<string, unknown>>, name: string): number {
  const value = optionalNumber(fields, name);
  if (value !== undefined) return value;
  throw new InvalidArgumentError(`${name} is missing in the config.`);
}
