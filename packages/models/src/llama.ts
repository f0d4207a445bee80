import { GraphBuilder, type Value } from '@hearth/graph';
import { ConfigReader } from './blocks/config-reader.ts';
import { parseRopeConfig, type RopeConfig, ropeSpec } from './blocks/rope-config.ts';
import type { ModelDefinition, ModelFamily } from './model-family.ts';

/** Llama (Touvron et al. 2023): config.json of `LlamaForCausalLM`, its names in camelCase. */
export interface LlamaConfig {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numHiddenLayers: number;
  readonly numAttentionHeads: number;
  readonly numKeyValueHeads: number;
  readonly headDim: number;
  readonly maxPositionEmbeddings: number;
  readonly rmsNormEps: number;
  readonly rope: RopeConfig;
  readonly attentionBias: boolean;
  readonly mlpBias: boolean;
  /** Undefined when the config does not say; see `isTied`. */
  readonly tieWordEmbeddings: boolean | undefined;
  readonly bosTokenId: number | null;
  readonly eosTokenIds: readonly number[];
}

/** Larger than any model, small enough that no product of two sizes loses precision. */
const maxSize = 2 ** 24;
const size = { min: 1, max: maxSize };

/**
 * Reads and checks a Llama config. Absent keys have the defaults of Transformers, sizes must be there.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseLlamaConfig(json: unknown): LlamaConfig {
  const config = new ConfigReader(json);
  config.refuseUnless('hidden_act', ['silu'], 'this activation');
  config.refuseUnless('pretraining_tp', [1], 'splitting the projections');
  config.refuseUnless('sliding_window', [], 'windowed attention in a Llama model');
  config.refuseUnless('partial_rotary_factor', [1], 'rotating a part of each head');
  config.refuseUnless('rope_interleaved', [false], 'rotating neighbouring pairs');
  config.refuseUnless('quantization_config', [], 'a checkpoint in this quantized form');

  const hiddenSize = config.integer('hidden_size', size);
  const numAttentionHeads = config.integer('num_attention_heads', { min: 1, max: 2 ** 16 });
  const numKeyValueHeads = config.integer('num_key_value_heads', {
    min: 1,
    max: numAttentionHeads,
    default: numAttentionHeads,
  });
  if (numAttentionHeads % numKeyValueHeads !== 0) {
    config.fail('num_key_value_heads', `a divisor of num_attention_heads (${numAttentionHeads})`);
  }
  if (!config.has('head_dim') && hiddenSize % numAttentionHeads !== 0) {
    config.fail('num_attention_heads', `a divisor of hidden_size (${hiddenSize}) when head_dim is not given`);
  }
  const headDim = config.integer('head_dim', { min: 2, max: 2 ** 12, default: hiddenSize / numAttentionHeads });
  if (headDim % 2 !== 0) config.fail('head_dim', 'even, because RoPE rotates pairs');
  const [bosTokenId = null] = config.tokenIds('bos_token_id');

  return {
    vocabSize: config.integer('vocab_size', size),
    hiddenSize,
    intermediateSize: config.integer('intermediate_size', size),
    numHiddenLayers: config.integer('num_hidden_layers', { min: 1, max: 1024 }),
    numAttentionHeads,
    numKeyValueHeads,
    headDim,
    // The angles of RoPE are exact enough up to 2^20 positions (docs/numerics.md).
    maxPositionEmbeddings: config.integer('max_position_embeddings', { min: 1, max: 2 ** 20, default: 2048 }),
    rmsNormEps: config.number('rms_norm_eps', { min: 0, max: 1, default: 1e-6 }),
    rope: parseRopeConfig(config, 10_000),
    attentionBias: config.boolean('attention_bias', false),
    mlpBias: config.boolean('mlp_bias', false),
    tieWordEmbeddings: config.boolean('tie_word_embeddings'),
    bosTokenId,
    eosTokenIds: config.tokenIds('eos_token_id'),
  };
}

/** x · Wᵀ (+ bias), named by its checkpoint prefix. [tokens, x.width] -> [tokens, outWidth] */
function linear(g: GraphBuilder, x: Value, prefix: string, outWidth: number, hasBias: boolean): Value {
  const weight = g.weight(`${prefix}.weight`, [outWidth, x.width]);
  const bias = hasBias ? g.weight(`${prefix}.bias`, [outWidth]) : null;
  return g.linear(x, weight, { bias });
}

/** down(silu(gate(x)) · up(x)) (SwiGLU, Shazeer 2020). [tokens, hidden] -> [tokens, hidden] */
function mlp(g: GraphBuilder, config: LlamaConfig, x: Value, prefix: string): Value {
  const gate = linear(g, x, `${prefix}.gate_proj`, config.intermediateSize, config.mlpBias);
  const up = linear(g, x, `${prefix}.up_proj`, config.intermediateSize, config.mlpBias);
  const activated = g.gatedActivation('silu', gate, up, { name: `${prefix}.act` });
  return linear(g, activated, `${prefix}.down_proj`, config.hiddenSize, config.mlpBias);
}

/** Grouped-query attention (Ainslie et al. 2023). [tokens, hidden] -> [tokens, hidden] */
function attention(g: GraphBuilder, config: LlamaConfig, x: Value, ropeTable: Value, prefix: string): Value {
  const { numAttentionHeads: numHeads, numKeyValueHeads: numKvHeads, headDim, attentionBias } = config;
  // 1. Project: q [tokens, numHeads · headDim], k and v [tokens, numKvHeads · headDim]
  let q = linear(g, x, `${prefix}.q_proj`, numHeads * headDim, attentionBias);
  let k = linear(g, x, `${prefix}.k_proj`, numKvHeads * headDim, attentionBias);
  const v = linear(g, x, `${prefix}.v_proj`, numKvHeads * headDim, attentionBias);
  // 2. Rotate queries and keys by their positions
  q = g.rope(q, ropeTable, { name: `${prefix}.q_rope`, headDim });
  k = g.rope(k, ropeTable, { name: `${prefix}.k_rope`, headDim });
  // 3. Append k and v to the cache, attend over it: softmax(q · kᵀ / sqrt(headDim)) · v
  const name = `${prefix}.attention`;
  const attended = g.attention(q, k, v, { name, numHeads, numKvHeads, headDim, scale: 1 / Math.sqrt(headDim) });
  // 4. Project back
  return linear(g, attended, `${prefix}.o_proj`, config.hiddenSize, attentionBias);
}

function decoderLayer(g: GraphBuilder, config: LlamaConfig, x: Value, ropeTable: Value, prefix: string): Value {
  const { hiddenSize, rmsNormEps } = config;
  const normed = g.rmsNorm(x, g.weight(`${prefix}.input_layernorm.weight`, [hiddenSize]), rmsNormEps);
  const attended = attention(g, config, normed, ropeTable, `${prefix}.self_attn`);
  const residual = g.add(x, attended, { name: `${prefix}.attn_residual` });
  const postNorm = g.weight(`${prefix}.post_attention_layernorm.weight`, [hiddenSize]);
  const transformed = mlp(g, config, g.rmsNorm(residual, postNorm, rmsNormEps), `${prefix}.mlp`);
  return g.add(residual, transformed, { name: prefix });
}

/** The whole model: token ids -> hidden rows and logits. */
function llamaForCausalLM(config: LlamaConfig, tied: boolean) {
  const { vocabSize, hiddenSize, maxPositionEmbeddings: contextLength, rmsNormEps } = config;
  const g = new GraphBuilder({ name: 'LlamaForCausalLM', vocabSize, hiddenSize, contextLength });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const ropeTable = g.ropeTable(ropeSpec(config.rope, config.headDim));
  let x = g.embed(embedTokens);
  for (let layer = 0; layer < config.numHiddenLayers; layer++) {
    x = decoderLayer(g, config, x, ropeTable, `model.layers.${layer}`);
  }
  const hidden = g.rmsNorm(g.outputRows(x), g.weight('model.norm.weight', [hiddenSize]), rmsNormEps);
  const head = tied ? embedTokens : g.weight('lm_head.weight', [vocabSize, hiddenSize]);
  return g.outputs({ hidden, logits: g.linear(hidden, head, { name: 'lm_head' }) });
}

/**
 * Whether the head is the embedding table. A config that does not say is taken at what its checkpoint holds: tied when there
 * is no `lm_head.weight` (untied when the tensors are not known, the default of Transformers).
 */
function isTied(config: LlamaConfig, hasTensor?: (name: string) => boolean): boolean {
  return config.tieWordEmbeddings ?? (hasTensor ? !hasTensor('lm_head.weight') : false);
}

export const llama: ModelFamily = {
  build(configJson, hasTensor): ModelDefinition {
    const config = parseLlamaConfig(configJson);
    const tied = isTied(config, hasTensor);
    return {
      graph: llamaForCausalLM(config, tied),
      numLayers: config.numHiddenLayers,
      numHeads: config.numAttentionHeads,
      numKvHeads: config.numKeyValueHeads,
      headDim: config.headDim,
      tiedEmbeddings: tied,
      bosTokenId: config.bosTokenId,
      eosTokenIds: config.eosTokenIds,
      // Old exports carry the rotary frequencies; with a tied head some carry a copy of it.
      ignoredTensors: [/(^|\.)rotary_emb\.inv_freq$/, ...(tied ? [/^lm_head\.weight$/] : [])],
    };
  },
};
