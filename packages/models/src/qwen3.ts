import { type Graph, GraphBuilder } from '@hearth/graph';
import { ConfigReader } from './blocks/config-reader.ts';
import { type DecoderConfig, parseDecoderConfig } from './blocks/decoder-config.ts';
import { type LayerWindows, readQwenWindows } from './blocks/layer-windows.ts';
import { gatedMlp, languageModelHead, preNormLayer, rmsNorm } from './blocks/layers.ts';
import { isTied, modelDefinition } from './blocks/model-definition.ts';
import { qwen3Attention } from './blocks/qwen3-attention.ts';
import { refuseOtherSettings } from './blocks/refuse-settings.ts';
import { maxContextLength, type RopeConfig, ropeSpec } from './blocks/rope/rope-spec.ts';
import { parseRopeConfig } from './blocks/rope-config.ts';
import type { ModelFamily } from './model-family.ts';

/** Qwen3 (Yang et al. 2025): config.json of `Qwen3ForCausalLM`, its names in camelCase. */
export interface Qwen3Config extends DecoderConfig {
  readonly rope: RopeConfig;
  readonly attentionBias: boolean;
  /** `use_sliding_window`, `sliding_window`, `max_window_layers` and `layer_types`, by layer. */
  readonly windows: LayerWindows;
}

/**
 * Reads and checks a Qwen3 config. Absent keys have the defaults of Transformers, sizes must be there.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseQwen3Config(json: unknown): Qwen3Config {
  const config = new ConfigReader(json);
  config.refuseUnless('hidden_act', ['silu'], 'this activation');
  refuseOtherSettings(config, ['attention_bias', 'use_sliding_window', 'sliding_window', 'layer_types']);
  const common = parseDecoderConfig(config, { maxPositionEmbeddings: 2 ** 15, headDim: 128, numKeyValueHeads: 32 });
  return {
    ...common,
    rope: parseRopeConfig(config, { ...common, defaultTheta: 10_000 }),
    attentionBias: config.boolean('attention_bias', false),
    windows: readQwenWindows(config, common.numHiddenLayers),
  };
}

/** The whole model: token ids -> hidden rows and logits. */
function qwen3ForCausalLM(config: Qwen3Config, isTied: boolean, contextLength: number | undefined): Graph {
  const { vocabSize, hiddenSize, intermediateSize, rmsNormEps: eps, rope } = config;
  const shape = { vocabSize, hiddenSize, contextLength: maxContextLength(rope) };
  const g = new GraphBuilder({ name: 'Qwen3ForCausalLM', ...shape });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const ropeTable = g.ropeTable(ropeSpec(rope, contextLength));
  let x = g.embed(embedTokens);
  for (const [layer, window] of config.windows.entries()) {
    const prefix = `model.layers.${layer}`;
    x = preNormLayer(g, x, prefix, eps, {
      attention: (normed) => qwen3Attention(g, config, normed, ropeTable, window, `${prefix}.self_attn`),
      mlp: (normed) => gatedMlp(g, normed, `${prefix}.mlp`, { activation: 'silu', intermediateSize }),
    });
  }
  const hidden = rmsNorm(g, g.outputRows(x), 'model.norm', eps);
  return g.outputs({ hidden, logits: languageModelHead(g, hidden, embedTokens, { isTied }) });
}

export const qwen3: ModelFamily = {
  modelType: 'qwen3',
  build(configJson, context) {
    const config = parseQwen3Config(configJson);
    const tied = isTied(config, context);
    return modelDefinition(qwen3ForCausalLM(config, tied, context.contextLength), config, tied);
  },
};
