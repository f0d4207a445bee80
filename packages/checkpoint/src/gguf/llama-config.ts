import type { MappedFile } from '@hearth/core';
import { InvalidModelError, UnsupportedError } from '@hearth/core';
import type { GgufHeader, GgufTensor } from './gguf.ts';
import { MetadataFields } from './metadata-fields.ts';
import { ropeScalingFromFactors } from './rope-frequencies.ts';

/** Above any model; what is larger is a damaged or hostile number. */
const maxDimension = 2 ** 31 - 1;
const maxHeads = 65_536;

/** Keys that change what the network computes in ways that config.json of this family cannot say, with the value that changes nothing. */
const neutralValues: readonly (readonly [string, unknown])[] = [
  ['llama.expert_count', 0],
  ['llama.attention.causal', true],
  ['llama.attention.clamp_kqv', 0],
  ['llama.attention.max_alibi_bias', 0],
  ['llama.attention.scale', 0],
  ['llama.attn_logit_softcapping', 0],
  ['llama.final_logit_softcapping', 0],
  ['llama.embedding_scale', 1],
  ['llama.logit_scale', 1],
  ['llama.residual_scale', 1],
  ['llama.use_parallel_residual', false],
  ['llama.rope.scaling.yarn_ext_factor', 1],
  ['llama.rope.scaling.yarn_log_multiplier', 0],
];

/** Keys that say how the file came about, not what it computes. */
const descriptiveKeys = ['llama.rope.scaling.finetuned', 'llama.tensor_data_layout'];

/**
 * config.json of a Llama, from the metadata and tensors of its GGUF file. Key names and meanings are those of Transformers'
 * LlamaConfig; decimals are the shortest that name the stored f32.
 *
 * @throws InvalidModelError for missing or senseless values, UnsupportedError for what config.json cannot say; both name the key
 */
export async function llamaConfig(
  header: GgufHeader,
  file: MappedFile,
): Promise<{ config: Record<string, unknown>; warnings: string[] }> {
  const fields = new MetadataFields(file.path, header);
  const tensors = new Map(header.tensors.map((tensor) => [tensor.name, tensor]));
  refuseUnsupported(fields);

  const hiddenSize = fields.requiredInteger('llama.embedding_length', 1, maxDimension);
  const numHeads = fields.requiredInteger('llama.attention.head_count', 1, maxHeads);
  const numKvHeads = fields.integer('llama.attention.head_count_kv', 1, maxHeads) ?? numHeads;
  const headDim = readHeadDim(fields, hiddenSize, numHeads);
  const ropeTheta = fields.positive('llama.rope.freq_base') ?? 10_000;
  const embedding = tensors.get('token_embd.weight');
  if (embedding === undefined) {
    throw new InvalidModelError(
      `${file.path}: the tensor "token_embd.weight" is missing; it has ${header.tensors.length} tensors.`,
      { details: { path: file.path, tensor: 'token_embd.weight' } },
    );
  }
  const config: Record<string, unknown> = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: hiddenSize,
    intermediate_size: fields.requiredInteger('llama.feed_forward_length', 1, maxDimension),
    num_hidden_layers: readNumLayers(fields, header),
    num_attention_heads: numHeads,
    num_key_value_heads: numKvHeads,
    head_dim: headDim,
    hidden_act: 'silu',
    rms_norm_eps: fields.requiredPositive('llama.attention.layer_norm_rms_epsilon'),
    rope_theta: ropeTheta,
    rope_scaling: await readRopeScaling(fields, file, tensors.get('rope_freqs.weight'), ropeTheta, headDim),
    max_position_embeddings: fields.requiredInteger('llama.context_length', 1, maxDimension),
    // The rows that are there, not what a key says: the table may be padded past the tokenizer.
    vocab_size: embedding.shape[0]!,
    tie_word_embeddings: !tensors.has('output.weight'),
    attention_bias: tensors.has('blk.0.attn_q.bias'),
    mlp_bias: tensors.has('blk.0.ffn_up.bias'),
  };
  const window = fields.integer('llama.attention.sliding_window', 0, maxDimension);
  if (window) config.sliding_window = window;
  Object.assign(config, readTokenIds(fields));
  return { config, warnings: readWarnings(fields, embedding.shape[0]!) };
}

function readWarnings(fields: MetadataFields, embeddingRows: number): string[] {
  const warnings: string[] = [];
  const declared = fields.raw('llama.vocab_size');
  if (declared !== undefined && declared !== embeddingRows) {
    warnings.push(
      `Metadata key "llama.vocab_size" says ${String(declared).slice(0, 30)}, but the embedding table has ${embeddingRows} rows; the rows count.`,
    );
  }
  for (const key of descriptiveKeys) fields.raw(key);
  const unused = fields.unusedKeys('llama.');
  if (unused.length > 0) {
    warnings.push(`Metadata keys that are not known were not used: ${unused.slice(0, 10).join(', ').slice(0, 500)}.`);
  }
  return warnings;
}

function refuseUnsupported(fields: MetadataFields): void {
  for (const [key, neutral] of neutralValues) {
    const value = fields.raw(key);
    if (value !== undefined && value !== neutral) {
      fields.unsupported(key, `is ${String(value).slice(0, 60)}; a llama model with it is not supported`);
    }
  }
}

function readNumLayers(fields: MetadataFields, header: GgufHeader): number {
  const key = 'llama.block_count';
  const numLayers = fields.requiredInteger(key, 1, maxDimension * 2 + 1);
  if (numLayers > header.tensors.length) {
    fields.invalid(key, `says ${numLayers} layers, but the file has only ${header.tensors.length} tensors`);
  }
  return numLayers;
}

function readHeadDim(fields: MetadataFields, hiddenSize: number, numHeads: number): number {
  const keyLength = fields.integer('llama.attention.key_length', 1, maxDimension);
  const headDim = keyLength ?? hiddenSize / numHeads;
  if (!Number.isInteger(headDim)) {
    fields.invalid(
      'llama.attention.head_count',
      `says ${numHeads} heads, which do not divide llama.embedding_length ${hiddenSize}`,
    );
  }
  for (const key of ['llama.attention.value_length', 'llama.rope.dimension_count']) {
    const value = fields.integer(key, 0, maxDimension);
    if (value !== undefined && value !== headDim) {
      fields.unsupported(key, `is ${value} where heads have ${headDim} dimensions; they must be the same`);
    }
  }
  return headDim;
}

/** `rope_scaling` from either of its two homes: metadata keys, or the tensor of frequency factors (Llama 3). */
async function readRopeScaling(
  fields: MetadataFields,
  file: MappedFile,
  frequencies: GgufTensor | undefined,
  ropeTheta: number,
  headDim: number,
): Promise<Record<string, unknown> | null> {
  const fromKeys = ropeScalingFromKeys(fields);
  if (frequencies === undefined) return fromKeys;
  const refuse = (problem: string): never => {
    throw new UnsupportedError(`${file.path}: tensor "rope_freqs.weight" ${problem}.`, {
      details: { path: file.path, tensor: frequencies.name },
    });
  };
  if (fromKeys) refuse('stands beside rope scaling keys; which of them counts is not known');
  if (frequencies.dtype !== 'f32' || frequencies.shape.length !== 1 || frequencies.shape[0] !== headDim / 2) {
    refuse(`has type ${frequencies.dtype} and shape [${frequencies.shape}], expected f32 [${headDim / 2}]`);
  }
  const bytes = await file.read(frequencies.offset, frequencies.byteLength);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const factors = Float32Array.from({ length: headDim / 2 }, (_, i) => view.getFloat32(i * 4, true));
  const scaling = ropeScalingFromFactors(factors, ropeTheta, headDim);
  if (scaling === undefined) return refuse('does not hold the frequency factors of a known rope scaling');
  return scaling === null ? null : { ...scaling };
}

function ropeScalingFromKeys(fields: MetadataFields): Record<string, unknown> | null {
  const prefix = 'llama.rope.scaling';
  const factor = fields.positive(`${prefix}.factor`) ?? fields.positive('llama.rope.scale_linear');
  const type = fields.text(`${prefix}.type`) ?? (factor === undefined ? 'none' : 'linear');
  if (type === 'none') return null;
  if (type !== 'linear' && type !== 'yarn') {
    return fields.unsupported(`${prefix}.type`, `is "${type}"; supported are none, linear and yarn`);
  }
  if (factor === undefined) return fields.invalid(`${prefix}.factor`, `is missing, ${type} scaling needs it`);
  if (type === 'linear') return factor === 1 ? null : { rope_type: 'linear', factor };
  const attentionFactor = fields.positive(`${prefix}.attn_factor`);
  if (attentionFactor !== undefined && attentionFactor !== 1) {
    fields.unsupported(`${prefix}.attn_factor`, `is ${attentionFactor}; only 1 is supported`);
  }
  const scaling: Record<string, unknown> = { rope_type: 'yarn', factor };
  const original = fields.integer(`${prefix}.original_context_length`, 1, maxDimension);
  if (original !== undefined) scaling.original_max_position_embeddings = original;
  for (const name of ['beta_fast', 'beta_slow']) {
    const beta = fields.positive(`${prefix}.yarn_${name}`);
    if (beta !== undefined) scaling[name] = beta;
  }
  return scaling;
}

function readTokenIds(fields: MetadataFields): Record<string, unknown> {
  const id = (name: string) => fields.integer(`tokenizer.ggml.${name}_token_id`, 0, maxDimension);
  const ids: Record<string, unknown> = {};
  const bos = id('bos');
  if (bos !== undefined) ids.bos_token_id = bos;
  // End of turn and end of message end a completion like the end of text, so all of them are listed, as in config.json of Llama 3.
  const ends = [...new Set([id('eos'), id('eot'), id('eom')].filter((end) => end !== undefined))];
  if (ends.length > 0) ids.eos_token_id = ends.length === 1 ? ends[0] : ends;
  const pad = id('padding');
  if (pad !== undefined) ids.pad_token_id = pad;
  return ids;
}
