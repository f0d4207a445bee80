import { type Graph, GraphBuilder, type Value } from '@hearth/graph';
import { headsOf, projectHeads, rotate } from './blocks/attention.ts';
import { ConfigReader } from './blocks/config-reader.ts';
import { type DecoderConfig, parseDecoderConfig } from './blocks/decoder-config.ts';
import { type LayerWindows, readQwenWindows } from './blocks/layer-windows.ts';
import { gatedMlp, languageModelHead, linear, preNormLayer, rmsNorm } from './blocks/layers.ts';
import { isTied, modelDefinition } from './blocks/model-definition.ts';
import { refuseOtherSettings } from './blocks/refuse-settings.ts';
import { maxContextLength, type RopeConfig, ropeSpec } from './blocks/rope/rope-spec.ts';
import { parseRopeConfig } from './blocks/rope-config.ts';
import type { ModelFamily } from './model-family.ts';

/** Qwen2 and Qwen2.5 (Yang et al. 2024): config.json of `Qwen2ForCausalLM`, its names in camelCase. */
export interface Qwen2Config extends DecoderConfig {
  readonly rope: RopeConfig;
  /** `use_sliding_window`, `sliding_window`, `max_window_layers` and `layer_types`, by layer. */
  readonly windows: LayerWindows;
}

/**
 * Reads and checks a Qwen2 config. Absent keys have the defaults of Transformers, sizes must be there.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseQwen2Config(json: unknown): Qwen2Config {
  const config = new ConfigReader(json);
  config.refuseUnless('hidden_act', ['silu'], 'this activation');
  // The family has biases at q, k and v, whatever this key says in Transformers.
  config.refuseUnless('attention_bias', [true], 'attention without its biases');
  refuseOtherSettings(config, ['attention_bias', 'use_sliding_window', 'sliding_window', 'layer_types']);
  const common = parseDecoderConfig(config, { maxPositionEmbeddings: 2 ** 15, numKeyValueHeads: 32 });
  return {
    ...common,
    rope: parseRopeConfig(config, { ...common, defaultTheta: 10_000 }),
    windows: readQwenWindows(config, common.numHiddenLayers),
  };
}

/** Grouped-query attention with biases at q, k and v. [tokens, hidden] -> [tokens, hidden] */
function attention(
  g: GraphBuilder,
  config: Qwen2Config,
  x: Value,
  ropeTable: Value,
  window: number | null,
  prefix: string,
): Value {
  const { hiddenSize, headDim } = config;
  const heads = headsOf(config);
  // 1. Project, with a bias: q [tokens, numHeads · headDim], k and v [tokens, numKvHeads · headDim]
  let { q, k, v } = projectHeads(g, x, prefix, heads, true);
  // 2. Rotate queries and keys by their positions
  ({ q, k } = rotate(g, q, k, ropeTable, prefix, headDim));
  // 3. Attend: softmax(q · kᵀ / sqrt(headDim)) · v
  const attributes = { name: `${prefix}.attention`, ...heads, scale: 1 / Math.sqrt(headDim), window };
  // 4. Project back, without one
  return linear(g, g.attention(q, k, v, attributes), `${prefix}.o_proj`, hiddenSize);
}

/** The whole model: token ids -> hidden rows and logits. */
function qwen2ForCausalLM(config: Qwen2Config, isTied: boolean, contextLength: number | undefined): Graph {
  const { vocabSize, hiddenSize, intermediateSize, rmsNormEps: eps, rope } = config;
  const shape = { vocabSize, hiddenSize, contextLength: maxContextLength(rope) };
  const g = new GraphBuilder({ name: 'Qwen2ForCausalLM', ...shape });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const ropeTable = g.ropeTable(ropeSpec(rope, contextLength));
  let x = g.embed(embedTokens);
  for (const [layer, window] of config.windows.entries()) {
    const prefix = `model.layers.${layer}`;
    x = preNormLayer(g, x, prefix, eps, {
      attention: (normed) => attention(g, config, normed, ropeTable, window, `${prefix}.self_attn`),
      mlp: (normed) => gatedMlp(g, normed, `${prefix}.mlp`, { activation: 'silu', intermediateSize }),
    });
  }
  const hidden = rmsNorm(g, g.outputRows(x), 'model.norm', eps);
  return g.outputs({ hidden, logits: languageModelHead(g, hidden, embedTokens, { isTied }) });
}

export const qwen2: ModelFamily = {
  modelType: 'qwen2',
  build(configJson, context) {
    const config = parseQwen2Config(configJson);
    const tied = isTied(config, context);
    return modelDefinition(qwen2ForCausalLM(config, tied, context.contextLength), config, tied);
  },
};
