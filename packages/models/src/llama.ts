import { type Graph, GraphBuilder, type Value } from '@hearth/graph';
import { headsOf, projectHeads, rotate } from './blocks/attention.ts';
import { ConfigReader } from './blocks/config-reader.ts';
import { type DecoderConfig, parseDecoderConfig } from './blocks/decoder-config.ts';
import { gatedMlp, languageModelHead, linear, preNormLayer, rmsNorm } from './blocks/layers.ts';
import { isTied, modelDefinition } from './blocks/model-definition.ts';
import { refuseOtherSettings } from './blocks/refuse-settings.ts';
import { maxContextLength, type RopeConfig, ropeSpec } from './blocks/rope/rope-spec.ts';
import { parseRopeConfig } from './blocks/rope-config.ts';
import type { ModelFamily } from './model-family.ts';

/** Llama (Touvron et al. 2023; Dubey et al. 2024): config.json of `LlamaForCausalLM`, its names in camelCase. */
export interface LlamaConfig extends DecoderConfig {
  readonly rope: RopeConfig;
  readonly attentionBias: boolean;
  readonly mlpBias: boolean;
}

/**
 * Reads and checks a Llama config. Absent keys have the defaults of Transformers, sizes must be there.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseLlamaConfig(json: unknown): LlamaConfig {
  const config = new ConfigReader(json);
  config.refuseUnless('hidden_act', ['silu'], 'this activation');
  refuseOtherSettings(config, ['attention_bias', 'mlp_bias']);
  const common = parseDecoderConfig(config, { maxPositionEmbeddings: 2048 });
  return {
    ...common,
    rope: parseRopeConfig(config, { ...common, defaultTheta: 10_000 }),
    attentionBias: config.boolean('attention_bias', false),
    mlpBias: config.boolean('mlp_bias', false),
  };
}

/** Grouped-query attention (Ainslie et al. 2023). [tokens, hidden] -> [tokens, hidden] */
function attention(g: GraphBuilder, config: LlamaConfig, x: Value, ropeTable: Value, prefix: string): Value {
  const { hiddenSize, headDim, attentionBias } = config;
  const heads = headsOf(config);
  // 1. Project: q [tokens, numHeads · headDim], k and v [tokens, numKvHeads · headDim]
  let { q, k, v } = projectHeads(g, x, prefix, heads, attentionBias);
  // 2. Rotate queries and keys by their positions
  ({ q, k } = rotate(g, q, k, ropeTable, prefix, headDim));
  // 3. Append k and v to the cache, attend over it: softmax(q · kᵀ / sqrt(headDim)) · v
  const attended = g.attention(q, k, v, { name: `${prefix}.attention`, ...heads, scale: 1 / Math.sqrt(headDim) });
  // 4. Project back
  return linear(g, attended, `${prefix}.o_proj`, hiddenSize, attentionBias);
}

function decoderLayer(g: GraphBuilder, config: LlamaConfig, x: Value, ropeTable: Value, prefix: string): Value {
  const { intermediateSize, rmsNormEps: eps, mlpBias: hasBias } = config;
  return preNormLayer(g, x, prefix, eps, {
    attention: (normed) => attention(g, config, normed, ropeTable, `${prefix}.self_attn`),
    mlp: (normed) => gatedMlp(g, normed, `${prefix}.mlp`, { activation: 'silu', intermediateSize, hasBias }),
  });
}

/** The whole model: token ids -> hidden rows and logits. */
function llamaForCausalLM(config: LlamaConfig, isTied: boolean, contextLength: number | undefined): Graph {
  const { vocabSize, hiddenSize, rope } = config;
  const shape = { vocabSize, hiddenSize, contextLength: maxContextLength(rope) };
  const g = new GraphBuilder({ name: 'LlamaForCausalLM', ...shape });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const ropeTable = g.ropeTable(ropeSpec(rope, contextLength));
  let x = g.embed(embedTokens);
  for (let layer = 0; layer < config.numHiddenLayers; layer++) {
    x = decoderLayer(g, config, x, ropeTable, `model.layers.${layer}`);
  }
  const hidden = rmsNorm(g, g.outputRows(x), 'model.norm', config.rmsNormEps);
  return g.outputs({ hidden, logits: languageModelHead(g, hidden, embedTokens, { isTied }) });
}

export const llama: ModelFamily = {
  modelType: 'llama',
  build(configJson, context) {
    const config = parseLlamaConfig(configJson);
    const tied = isTied(config, context);
    return modelDefinition(llamaForCausalLM(config, tied, context.contextLength), config, tied);
  },
};
