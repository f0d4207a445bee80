import { InvalidModelError } from '@hearth/core';
import type { GgufContents } from './architecture.ts';
import type { MetadataFields } from './metadata-fields.ts';

/** Above any model; what is larger is a damaged or hostile number. */
export const maxDimension = 2 ** 31 - 1;
const maxHeads = 65_536;

/**
 * Keys that change what the network computes in ways that no config.json of these families says, with the value that changes
 * nothing. A family asks for those that it does say.
 */
const neutralValues: readonly (readonly [string, unknown])[] = [
  ['expert_count', 0],
  ['expert_shared_count', 0],
  ['expert_group_count', 0],
  ['leading_dense_block_count', 0],
  ['attention.causal', true],
  ['attention.clamp_kqv', 0],
  ['attention.max_alibi_bias', 0],
  ['attention.scale', 0],
  ['attention.sliding_window', 0],
  ['attention.sliding_window_pattern', 1],
  ['attention.temperature_scale', 0],
  ['attn_logit_softcapping', 0],
  ['final_logit_softcapping', 0],
  ['embedding_scale', 1],
  ['logit_scale', 1],
  ['residual_scale', 1],
  ['use_parallel_residual', false],
  ['rope.scaling.yarn_ext_factor', 1],
  ['rope.scaling.yarn_log_multiplier', 0],
];

/** @param said keys of the architecture that the family puts into its config */
export function refuseWhatIsNotSaid(fields: MetadataFields, said: readonly string[] = []): void {
  for (const [name, neutral] of neutralValues) {
    if (said.includes(name)) continue;
    const value = fields.raw(fields.key(name));
    if (value !== undefined && value !== neutral) {
      const architecture = fields.key('').slice(0, -1);
      const article = /^[aeiou]/.test(architecture) ? 'an' : 'a';
      fields.unsupported(
        fields.key(name),
        `is ${String(value).slice(0, 60)}; ${article} ${architecture} model with it is not supported`,
      );
    }
  }
}

/** The number of layers, which no model has more of than tensors. */
export function readNumLayers({ fields, tensors }: GgufContents): number {
  const key = fields.key('block_count');
  const numLayers = fields.requiredInteger(key, 1, maxDimension * 2 + 1);
  if (numLayers > tensors.size) {
    fields.invalid(key, `says ${numLayers} layers, but the file has only ${tensors.size} tensors`);
  }
  return numLayers;
}

/** The rows of the embedding table that are there, not what a key says: the table may be padded past the tokenizer. */
export function readVocabSize({ path, tensors }: GgufContents): number {
  const embedding = tensors.get('token_embd.weight');
  if (embedding) return embedding.shape[0]!;
  throw new InvalidModelError(`${path}: the tensor "token_embd.weight" is missing; it has ${tensors.size} tensors.`, {
    details: { path, tensor: 'token_embd.weight' },
  });
}

export interface DecoderConfig {
  readonly hidden_size: number;
  readonly intermediate_size: number;
  readonly num_hidden_layers: number;
  readonly num_attention_heads: number;
  readonly num_key_value_heads: number;
  readonly head_dim: number;
  readonly rms_norm_eps: number;
  readonly rope_theta: number;
  readonly max_position_embeddings: number;
  readonly vocab_size: number;
  readonly tie_word_embeddings: boolean;
}

/** What all families with RMSNorm and rotary positions have in common. */
export function decoderConfig(
  contents: GgufContents,
  { partialRotary = false }: { readonly partialRotary?: boolean } = {},
): DecoderConfig {
  const { fields, tensors } = contents;
  const vocabSize = readVocabSize(contents);
  const hiddenSize = fields.requiredInteger(fields.key('embedding_length'), 1, maxDimension);
  const numHeads = fields.requiredInteger(fields.key('attention.head_count'), 1, maxHeads);
  const headDim = readHeadDim(fields, hiddenSize, numHeads);
  if (!partialRotary) refuseOtherSize(fields, 'rope.dimension_count', headDim);
  return {
    hidden_size: hiddenSize,
    intermediate_size: fields.requiredInteger(fields.key('feed_forward_length'), 1, maxDimension),
    num_hidden_layers: readNumLayers(contents),
    num_attention_heads: numHeads,
    num_key_value_heads: fields.integer(fields.key('attention.head_count_kv'), 1, maxHeads) ?? numHeads,
    head_dim: headDim,
    rms_norm_eps: fields.requiredPositive(fields.key('attention.layer_norm_rms_epsilon')),
    rope_theta: fields.positive(fields.key('rope.freq_base')) ?? 10_000,
    max_position_embeddings: fields.requiredInteger(fields.key('context_length'), 1, maxDimension),
    vocab_size: vocabSize,
    tie_word_embeddings: !tensors.has('output.weight'),
  };
}

function readHeadDim(fields: MetadataFields, hiddenSize: number, numHeads: number): number {
  const keyLength = fields.integer(fields.key('attention.key_length'), 1, maxDimension);
  const headDim = keyLength ?? hiddenSize / numHeads;
  if (!Number.isInteger(headDim)) {
    fields.invalid(
      fields.key('attention.head_count'),
      `says ${numHeads} heads, which do not divide ${fields.key('embedding_length')} ${hiddenSize}`,
    );
  }
  refuseOtherSize(fields, 'attention.value_length', headDim);
  return headDim;
}

function refuseOtherSize(fields: MetadataFields, name: string, headDim: number): void {
  const value = fields.integer(fields.key(name), 0, maxDimension);
  if (value !== undefined && value !== headDim) {
    fields.unsupported(fields.key(name), `is ${value} where heads have ${headDim} dimensions; they must be the same`);
  }
}

/** A key whose value 0 means that there is none: null then, `fallback` when the key is absent. */
export function positiveOrNone(fields: MetadataFields, name: string, fallback: number | null): number | null {
  const value = fields.raw(fields.key(name));
  if (value === 0) return null;
  return fields.positive(fields.key(name)) ?? fallback;
}

/** `sliding_window`; null when the file has none. */
export function readWindow(fields: MetadataFields, fallback: number | null = null): number | null {
  const window = fields.integer(fields.key('attention.sliding_window'), 0, maxDimension) ?? fallback;
  return window || null;
}
