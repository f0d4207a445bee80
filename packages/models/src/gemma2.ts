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
import { parseRopeConfig } from './blocks/rope-config.ts';
import type { ModelFamily } from './model-family.ts';

/** Gemma 2 (Gemma Team 2024): config.json of `Gemma2ForCausalLM`, its names in camelCase. */
export interface Gemma2Config extends DecoderConfig {
  readonly rope: RopeConfig;
  readonly attentionBias: boolean;
  /** Scores are multiplied by 1 / √ of it. */
  readonly queryPreAttnScalar: number;
  readonly attnLogitSoftcapping: number | null;
  readonly finalLogitSoftcapping: number | null;
  /** `sliding_window` and `layer_types`, by layer; every other layer from the first on is local when the types are absent. */
  readonly windows: LayerWindows;
}

/**
 * Reads and checks a Gemma 2 config. Absent keys have the defaults of Transformers, sizes must be there.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseGemma2Config(json: unknown): Gemma2Config {
  const config = new ConfigReader(json);
  for (const key of ['hidden_activation', 'hidden_act']) {
    config.refuseUnless(key, ['gelu_pytorch_tanh'], 'this activation');
  }
  refuseOtherSettings(config, [
    'attention_bias',
    'query_pre_attn_scalar',
    'attn_logit_softcapping',
    'final_logit_softcapping',
    'sliding_window',
    'layer_types',
  ]);
  const common = parseDecoderConfig(config, { maxPositionEmbeddings: 8192, headDim: 256, numKeyValueHeads: 4 });
  const window = config.orNull('sliding_window', (key) => config.integer(key, { ...windowRange, default: 4096 }));
  return {
    ...common,
    rope: parseRopeConfig(config, { ...common, defaultTheta: 10_000 }),
    attentionBias: config.boolean('attention_bias', false),
    queryPreAttnScalar: config.number('query_pre_attn_scalar', { min: 1e-6, max: 1e6, default: 256 }),
    attnLogitSoftcapping: readCap(config, 'attn_logit_softcapping', 50),
    finalLogitSoftcapping: readCap(config, 'final_logit_softcapping', 30),
    windows: readLayerWindows(config, common.numHiddenLayers, window, (layer) =>
      layer % 2 === 0 ? 'sliding_attention' : 'full_attention',
    ),
  };
}

/** Grouped-query attention with capped scores, local or global. [tokens, hidden] -> [tokens, hidden] */
function attention(
  g: GraphBuilder,
  config: Gemma2Config,
  x: Value,
  ropeTable: Value,
  window: number | null,
  prefix: string,
): Value {
  const { hiddenSize, headDim, attentionBias, queryPreAttnScalar, attnLogitSoftcapping: softcap } = config;
  const heads = headsOf(config);
  // 1. Project: q [tokens, numHeads · headDim], k and v [tokens, numKvHeads · headDim]
  let { q, k, v } = projectHeads(g, x, prefix, heads, attentionBias);
  // 2. Rotate queries and keys by their positions
  ({ q, k } = rotate(g, q, k, ropeTable, prefix, headDim));
  // 3. Attend: softmax(cap · tanh(q · kᵀ / sqrt(queryPreAttnScalar) / cap)) · v
  const scale = 1 / Math.sqrt(queryPreAttnScalar);
  const attended = g.attention(q, k, v, { name: `${prefix}.attention`, ...heads, scale, window, softcap });
  // 4. Project back
  return linear(g, attended, `${prefix}.o_proj`, hiddenSize, attentionBias);
}

/** The whole model: token ids -> hidden rows and capped logits. */
function gemma2ForCausalLM(config: Gemma2Config, isTied: boolean, contextLength: number | undefined): Graph {
  const { vocabSize, hiddenSize, rope, finalLogitSoftcapping: cap } = config;
  const shape = { vocabSize, hiddenSize, contextLength: maxContextLength(rope) };
  const g = new GraphBuilder({ name: 'Gemma2ForCausalLM', ...shape });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const ropeTable = g.ropeTable(ropeSpec(rope, contextLength));
  let x = g.embed(embedTokens, { scale: Math.sqrt(hiddenSize) });
  for (const [layer, window] of config.windows.entries()) {
    const prefix = `model.layers.${layer}`;
    x = gemmaLayer(g, config, x, prefix, (normed) =>
      attention(g, config, normed, ropeTable, window, `${prefix}.self_attn`),
    );
  }
  const hidden = gemmaNorm(g, config, g.outputRows(x), 'model.norm');
  return g.outputs({ hidden, logits: cappedHead(g, hidden, embedTokens, isTied, cap) });
}

export const gemma2: ModelFamily = {
  modelType: 'gemma2',
  build(configJson, context) {
    const config = parseGemma2Config(configJson);
    const tied = isTied(config, context, 'tied');
    return modelDefinition(gemma2ForCausalLM(config, tied, context.contextLength), config, tied);
  },
};
