import { type Graph, GraphBuilder, type Value } from '@hearth/graph';
import { headsOf, projectHeads, rotate } from './blocks/attention.ts';
import { ConfigReader } from './blocks/config-reader.ts';
import { type DecoderConfig, parseDecoderConfig } from './blocks/decoder-config.ts';
import { cappedHead, gemmaLayer, gemmaNorm, readCap } from './blocks/gemma.ts';
import { type LayerWindows, readLayerWindows, windowRange } from './blocks/layer-windows.ts';
import { linear } from './blocks/layers.ts';
import { isTied, modelDefinition } from './blocks/model-definition.ts';
import { refuseOtherSettings } from './blocks/refuse-settings.ts';
import { maxContextLength, type RopeConfig, ropeSpec } from './blocks/rope/rope-spec.ts';
import { parseLayerTypeRopes } from './blocks/rope-config.ts';
import type { ModelFamily } from './model-family.ts';

/** Gemma 3, the text model (Gemma Team 2025): config.json of `Gemma3ForCausalLM`, its names in camelCase. */
export interface Gemma3Config extends DecoderConfig {
  readonly globalRope: RopeConfig;
  readonly localRope: RopeConfig;
  readonly attentionBias: boolean;
  /** Scores are multiplied by 1 / √ of it. */
  readonly queryPreAttnScalar: number;
  readonly finalLogitSoftcapping: number | null;
  /** `sliding_window` and `layer_types`, by layer; every sixth is global when the types are absent. */
  readonly windows: LayerWindows;
}

/**
 * Reads and checks a Gemma 3 text config. Absent keys have the defaults of Transformers, sizes must be there.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseGemma3Config(json: unknown): Gemma3Config {
  const config = new ConfigReader(json);
  for (const key of ['hidden_activation', 'hidden_act']) {
    config.refuseUnless(key, ['gelu_pytorch_tanh'], 'this activation');
  }
  // Transformers reads attn_logit_softcapping for this family and does not use it.
  refuseOtherSettings(config, [
    'attention_bias',
    'query_pre_attn_scalar',
    'final_logit_softcapping',
    'sliding_window',
    'layer_types',
  ]);
  const common = parseDecoderConfig(config, { maxPositionEmbeddings: 2 ** 17, headDim: 256, numKeyValueHeads: 4 });
  const window = config.orNull('sliding_window', (key) => config.integer(key, { ...windowRange, default: 4096 }));
  const ropes = parseLayerTypeRopes(config, { ...common, defaultTheta: 1_000_000 }, 10_000);
  // Transformers reads the first and saves the second.
  const patternKey = config.has('sliding_window_pattern') ? 'sliding_window_pattern' : '_sliding_window_pattern';
  const pattern = config.integer(patternKey, { min: 1, max: 1024, default: 6 });
  return {
    ...common,
    globalRope: ropes.global,
    localRope: ropes.local,
    attentionBias: config.boolean('attention_bias', false),
    queryPreAttnScalar: config.number('query_pre_attn_scalar', { min: 1e-6, max: 1e6, default: 256 }),
    finalLogitSoftcapping: readCap(config, 'final_logit_softcapping', null),
    windows: readLayerWindows(config, common.numHiddenLayers, window, (layer) =>
      (layer + 1) % pattern === 0 ? 'full_attention' : 'sliding_attention',
    ),
  };
}

/** Grouped-query attention with a norm over each head, local or global. [tokens, hidden] -> [tokens, hidden] */
function attention(
  g: GraphBuilder,
  config: Gemma3Config,
  x: Value,
  ropeTable: Value,
  window: number | null,
  prefix: string,
): Value {
  const { hiddenSize, headDim, attentionBias, queryPreAttnScalar } = config;
  const heads = headsOf(config);
  // 1. Project: q [tokens, numHeads · headDim], k and v [tokens, numKvHeads · headDim]
  let { q, k, v } = projectHeads(g, x, prefix, heads, attentionBias);
  // 2. Normalise each head of queries and keys by itself
  q = gemmaNorm(g, config, q, `${prefix}.q_norm`, headDim);
  k = gemmaNorm(g, config, k, `${prefix}.k_norm`, headDim);
  // 3. Rotate them by their positions
  ({ q, k } = rotate(g, q, k, ropeTable, prefix, headDim));
  // 4. Attend: softmax(q · kᵀ / sqrt(queryPreAttnScalar)) · v
  const scale = 1 / Math.sqrt(queryPreAttnScalar);
  const attended = g.attention(q, k, v, { name: `${prefix}.attention`, ...heads, scale, window });
  // 5. Project back
  return linear(g, attended, `${prefix}.o_proj`, hiddenSize, attentionBias);
}

/** The whole model: token ids -> hidden rows and logits. */
function gemma3ForCausalLM(config: Gemma3Config, isTied: boolean, contextLength: number | undefined): Graph {
  const { vocabSize, hiddenSize, globalRope, localRope, finalLogitSoftcapping: cap } = config;
  const shape = { vocabSize, hiddenSize, contextLength: maxContextLength(globalRope) };
  const g = new GraphBuilder({ name: 'Gemma3ForCausalLM', ...shape });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const globalTable = g.ropeTable(ropeSpec(globalRope, contextLength));
  const localTable = g.ropeTable(ropeSpec(localRope, contextLength), 'model.rotary_emb_local');
  let x = g.embed(embedTokens, { scale: Math.sqrt(hiddenSize) });
  for (const [layer, window] of config.windows.entries()) {
    const prefix = `model.layers.${layer}`;
    const ropeTable = window === null ? globalTable : localTable;
    x = gemmaLayer(g, config, x, prefix, (normed) =>
      attention(g, config, normed, ropeTable, window, `${prefix}.self_attn`),
    );
  }
  const hidden = gemmaNorm(g, config, g.outputRows(x), 'model.norm');
  return g.outputs({ hidden, logits: cappedHead(g, hidden, embedTokens, isTied, cap) });
}

export const gemma3: ModelFamily = {
  modelType: 'gemma3_text',
  build(configJson, context) {
    const config = parseGemma3Config(configJson);
    const tied = isTied(config, context, 'tied');
    return modelDefinition(gemma3ForCausalLM(config, tied, context.contextLength), config, tied);
  },
};
