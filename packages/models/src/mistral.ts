import { type Graph, GraphBuilder, type Value } from '@hearth/graph';
import { headsOf, projectHeads, rotate } from './blocks/attention.ts';
import { ConfigReader } from './blocks/config-reader.ts';
import { type DecoderConfig, parseDecoderConfig } from './blocks/decoder-config.ts';
import { windowRange } from './blocks/layer-windows.ts';
import { gatedMlp, languageModelHead, linear, preNormLayer, rmsNorm } from './blocks/layers.ts';
import { isTied, modelDefinition } from './blocks/model-definition.ts';
import { refuseOtherSettings } from './blocks/refuse-settings.ts';
import { maxContextLength, type RopeConfig, ropeSpec } from './blocks/rope/rope-spec.ts';
import { parseRopeConfig } from './blocks/rope-config.ts';
import type { ModelFamily } from './model-family.ts';

/** Mistral (Jiang et al. 2023): config.json of `MistralForCausalLM`, its names in camelCase. */
export interface MistralConfig extends DecoderConfig {
  readonly rope: RopeConfig;
  /** Every layer sees so many of the last positions; null when all. */
  readonly slidingWindow: number | null;
}

/**
 * Reads and checks a Mistral config. Absent keys have the defaults of Transformers, so `sliding_window` is 4096 when it is
 * absent and none when it is null.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseMistralConfig(json: unknown): MistralConfig {
  const config = new ConfigReader(json);
  config.refuseUnless('hidden_act', ['silu'], 'this activation');
  refuseOtherSettings(config, ['sliding_window']);
  const common = parseDecoderConfig(config, { maxPositionEmbeddings: 2 ** 17, numKeyValueHeads: 8 });
  const window = { ...windowRange, default: 4096 };
  return {
    ...common,
    rope: parseRopeConfig(config, { ...common, defaultTheta: 10_000 }),
    slidingWindow: config.orNull('sliding_window', (key) => config.integer(key, window)),
  };
}

/** Grouped-query attention over a window. [tokens, hidden] -> [tokens, hidden] */
function attention(g: GraphBuilder, config: MistralConfig, x: Value, ropeTable: Value, prefix: string): Value {
  const { hiddenSize, headDim, slidingWindow: window } = config;
  const heads = headsOf(config);
  // 1. Project: q [tokens, numHeads · headDim], k and v [tokens, numKvHeads · headDim]
  let { q, k, v } = projectHeads(g, x, prefix, heads);
  // 2. Rotate queries and keys by their positions
  ({ q, k } = rotate(g, q, k, ropeTable, prefix, headDim));
  // 3. Attend over the last `window` positions: softmax(q · kᵀ / sqrt(headDim)) · v
  const attributes = { name: `${prefix}.attention`, ...heads, scale: 1 / Math.sqrt(headDim), window };
  // 4. Project back
  return linear(g, g.attention(q, k, v, attributes), `${prefix}.o_proj`, hiddenSize);
}

function decoderLayer(g: GraphBuilder, config: MistralConfig, x: Value, ropeTable: Value, prefix: string): Value {
  const { intermediateSize, rmsNormEps: eps } = config;
  return preNormLayer(g, x, prefix, eps, {
    attention: (normed) => attention(g, config, normed, ropeTable, `${prefix}.self_attn`),
    mlp: (normed) => gatedMlp(g, normed, `${prefix}.mlp`, { activation: 'silu', intermediateSize }),
  });
}

/** The whole model: token ids -> hidden rows and logits. */
function mistralForCausalLM(config: MistralConfig, isTied: boolean, contextLength: number | undefined): Graph {
  const { vocabSize, hiddenSize, rope } = config;
  const shape = { vocabSize, hiddenSize, contextLength: maxContextLength(rope) };
  const g = new GraphBuilder({ name: 'MistralForCausalLM', ...shape });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const ropeTable = g.ropeTable(ropeSpec(rope, contextLength));
  let x = g.embed(embedTokens);
  for (let layer = 0; layer < config.numHiddenLayers; layer++) {
    x = decoderLayer(g, config, x, ropeTable, `model.layers.${layer}`);
  }
  const hidden = rmsNorm(g, g.outputRows(x), 'model.norm', config.rmsNormEps);
  return g.outputs({ hidden, logits: languageModelHead(g, hidden, embedTokens, { isTied }) });
}

export const mistral: ModelFamily = {
  modelType: 'mistral',
  build(configJson, context) {
    const config = parseMistralConfig(configJson);
    const tied = isTied(config, context);
    return modelDefinition(mistralForCausalLM(config, tied, context.contextLength), config, tied);
  },
};
