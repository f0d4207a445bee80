import { type Graph, GraphBuilder, type Value } from '@hearth/graph';
import { headsOf, rotate } from './blocks/attention.ts';
import { ConfigReader } from './blocks/config-reader.ts';
import { type DecoderConfig, parseDecoderConfig } from './blocks/decoder-config.ts';
import { windowRange } from './blocks/layer-windows.ts';
import { languageModelHead, linear, preNormLayer, rmsNorm } from './blocks/layers.ts';
import { isTied, modelDefinition } from './blocks/model-definition.ts';
import { refuseOtherSettings } from './blocks/refuse-settings.ts';
import { maxContextLength, type RopeConfig, ropeSpec } from './blocks/rope/rope-spec.ts';
import { parseRopeConfig } from './blocks/rope-config.ts';
import type { ModelFamily } from './model-family.ts';

/** Phi-3, 3.5 and 4 (Abdin et al. 2024): config.json of `Phi3ForCausalLM`, its names in camelCase. */
export interface Phi3Config extends DecoderConfig {
  /** `partial_rotary_factor` of each head rotates; LongRoPE in the models with a long context. */
  readonly rope: RopeConfig;
  /** Every layer sees so many of the last positions; null when all. */
  readonly slidingWindow: number | null;
}

/**
 * Reads and checks a Phi-3 config. Absent keys have the defaults of Transformers, sizes must be there.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parsePhi3Config(json: unknown): Phi3Config {
  const config = new ConfigReader(json);
  config.refuseUnless('hidden_act', ['silu'], 'this activation');
  refuseOtherSettings(config, ['sliding_window']);
  const common = parseDecoderConfig(config, { maxPositionEmbeddings: 4096, rmsNormEps: 1e-5 });
  const originalMaxPositionEmbeddings = 4096;
  return {
    ...common,
    rope: parseRopeConfig(config, { ...common, defaultTheta: 10_000, isPartial: true, originalMaxPositionEmbeddings }),
    slidingWindow: config.has('sliding_window') ? config.integer('sliding_window', windowRange) : null,
  };
}

/** Grouped-query attention, q, k and v projected by one matrix. [tokens, hidden] -> [tokens, hidden] */
function attention(g: GraphBuilder, config: Phi3Config, x: Value, ropeTable: Value, prefix: string): Value {
  const { hiddenSize, headDim, slidingWindow: window } = config;
  const heads = headsOf(config);
  // 1. Project: [tokens, (numHeads + 2 · numKvHeads) · headDim], cut into q, k and v
  const [qWidth, kvWidth] = [heads.numHeads * headDim, heads.numKvHeads * headDim];
  const qkv = linear(g, x, `${prefix}.qkv_proj`, qWidth + 2 * kvWidth);
  const [q, k, v] = g.split(qkv, [
    { name: `${prefix}.q`, width: qWidth },
    { name: `${prefix}.k`, width: kvWidth },
    { name: `${prefix}.v`, width: kvWidth },
  ]);
  // 2. Rotate the leading dimensions of queries and keys by their positions
  const rotated = rotate(g, q, k, ropeTable, prefix, headDim);
  // 3. Attend over the last `window` positions: softmax(q · kᵀ / sqrt(headDim)) · v
  const attributes = { name: `${prefix}.attention`, ...heads, scale: 1 / Math.sqrt(headDim), window };
  // 4. Project back
  return linear(g, g.attention(rotated.q, rotated.k, v, attributes), `${prefix}.o_proj`, hiddenSize);
}

/** down(silu(gate) · up), gate and up projected by one matrix. [tokens, hidden] -> [tokens, hidden] */
function mlp(g: GraphBuilder, { hiddenSize, intermediateSize: width }: Phi3Config, x: Value, prefix: string): Value {
  const gateUp = linear(g, x, `${prefix}.gate_up_proj`, 2 * width);
  const [gate, up] = g.split(gateUp, [
    { name: `${prefix}.gate`, width },
    { name: `${prefix}.up`, width },
  ]);
  const activated = g.gatedActivation('silu', gate, up, { name: `${prefix}.act` });
  return linear(g, activated, `${prefix}.down_proj`, hiddenSize);
}

/** The whole model: token ids -> hidden rows and logits. */
function phi3ForCausalLM(config: Phi3Config, isTied: boolean, contextLength: number | undefined): Graph {
  const { vocabSize, hiddenSize, rmsNormEps: eps, rope } = config;
  const shape = { vocabSize, hiddenSize, contextLength: maxContextLength(rope) };
  const g = new GraphBuilder({ name: 'Phi3ForCausalLM', ...shape });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const ropeTable = g.ropeTable(ropeSpec(rope, contextLength));
  let x = g.embed(embedTokens);
  for (let layer = 0; layer < config.numHiddenLayers; layer++) {
    const prefix = `model.layers.${layer}`;
    x = preNormLayer(g, x, prefix, eps, {
      attention: (normed) => attention(g, config, normed, ropeTable, `${prefix}.self_attn`),
      mlp: (normed) => mlp(g, config, normed, `${prefix}.mlp`),
    });
  }
  const hidden = rmsNorm(g, g.outputRows(x), 'model.norm', eps);
  return g.outputs({ hidden, logits: languageModelHead(g, hidden, embedTokens, { isTied }) });
}

export const phi3: ModelFamily = {
  modelType: 'phi3',
  build(configJson, context) {
    const config = parsePhi3Config(configJson);
    const tied = isTied(config, context);
    return modelDefinition(phi3ForCausalLM(config, tied, context.contextLength), config, tied);
  },
};
