import { InvalidModelError } from '@hearth/core';
import { type Graph, GraphBuilder, type Value } from '@hearth/graph';
import { ConfigReader } from './blocks/config-reader.ts';
import { type DecoderConfig, parseDecoderConfig, size } from './blocks/decoder-config.ts';
import { windowRange } from './blocks/layer-windows.ts';
import { gatedMlp, languageModelHead, linear, preNormLayer, rmsNorm } from './blocks/layers.ts';
import { isTied, modelDefinition } from './blocks/model-definition.ts';
import { qwen3Attention } from './blocks/qwen3-attention.ts';
import { refuseOtherSettings } from './blocks/refuse-settings.ts';
import { maxContextLength, type RopeConfig, ropeSpec } from './blocks/rope/rope-spec.ts';
import { parseRopeConfig } from './blocks/rope-config.ts';
import type { BuildContext, ModelFamily } from './model-family.ts';

/** Qwen3 with experts (Yang et al. 2025): config.json of `Qwen3MoeForCausalLM`, its names in camelCase. */
export interface Qwen3MoeConfig extends DecoderConfig {
  readonly rope: RopeConfig;
  readonly attentionBias: boolean;
  readonly slidingWindow: number | null;
  readonly numExperts: number;
  readonly numExpertsPerToken: number;
  readonly moeIntermediateSize: number;
  readonly normTopkProb: boolean;
  /** By layer, from `mlp_only_layers` and `decoder_sparse_step`: whether it has experts. The others have one wider MLP. */
  readonly isSparse: readonly boolean[];
}

/** Each expert is three matrices by name; this keeps a hostile config from asking for millions of them. */
const mostExperts = 2 ** 16;

/**
 * Reads and checks a config of Qwen3 with experts. Absent keys have the defaults of Transformers, sizes must be there.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseQwen3MoeConfig(json: unknown): Qwen3MoeConfig {
  const config = new ConfigReader(json);
  config.refuseUnless('hidden_act', ['silu'], 'this activation');
  refuseOtherSettings(config, ['attention_bias', 'use_sliding_window', 'sliding_window', 'num_experts']);
  const common = parseDecoderConfig(config, { maxPositionEmbeddings: 2 ** 15, numKeyValueHeads: 4 });
  const numLayers = common.numHiddenLayers;
  const numExperts = config.integer('num_experts', { min: 1, max: Math.floor(mostExperts / numLayers), default: 128 });
  const denseLayers = new Set(config.integers('mlp_only_layers', { min: 0, max: numLayers - 1 }));
  const step = config.integer('decoder_sparse_step', { min: 1, max: 2 ** 16, default: 1 });
  const window = { ...windowRange, default: 4096 };
  return {
    ...common,
    rope: parseRopeConfig(config, { ...common, defaultTheta: 10_000 }),
    attentionBias: config.boolean('attention_bias', false),
    slidingWindow: config.boolean('use_sliding_window', false)
      ? config.orNull('sliding_window', (key) => config.integer(key, window))
      : null,
    numExperts,
    numExpertsPerToken: config.integer('num_experts_per_tok', { min: 1, max: numExperts, default: 8 }),
    moeIntermediateSize: config.integer('moe_intermediate_size', size),
    normTopkProb: config.boolean('norm_topk_prob', false),
    isSparse: Array.from({ length: numLayers }, (_, layer) => !denseLayers.has(layer) && (layer + 1) % step === 0),
  };
}

/** A mixture of experts (Shazeer et al. 2017), each a gated MLP. [tokens, hidden] -> [tokens, hidden] */
function sparseMlp(g: GraphBuilder, config: Qwen3MoeConfig, x: Value, prefix: string): Value {
  const { hiddenSize, numExperts, numExpertsPerToken, moeIntermediateSize: width, normTopkProb } = config;
  const routerLogits = linear(g, x, `${prefix}.gate`, numExperts);
  const experts = Array.from({ length: numExperts }, (_, expert) => ({
    gate: g.weight(`${prefix}.experts.${expert}.gate_proj.weight`, [width, hiddenSize]),
    up: g.weight(`${prefix}.experts.${expert}.up_proj.weight`, [width, hiddenSize]),
    down: g.weight(`${prefix}.experts.${expert}.down_proj.weight`, [hiddenSize, width]),
  }));
  const routing = { numExpertsPerToken, normalizeWeights: normTopkProb };
  return g.moeMlp(x, routerLogits, experts, { name: prefix, activation: 'silu', ...routing });
}

/** The whole model: token ids -> hidden rows and logits. */
function qwen3MoeForCausalLM(config: Qwen3MoeConfig, isTied: boolean, contextLength: number | undefined): Graph {
  const { vocabSize, hiddenSize, intermediateSize, rmsNormEps: eps, rope, slidingWindow } = config;
  const shape = { vocabSize, hiddenSize, contextLength: maxContextLength(rope) };
  const g = new GraphBuilder({ name: 'Qwen3MoeForCausalLM', ...shape });
  const embedTokens = g.weight('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  const ropeTable = g.ropeTable(ropeSpec(rope, contextLength));
  let x = g.embed(embedTokens);
  for (const [layer, isSparse] of config.isSparse.entries()) {
    const prefix = `model.layers.${layer}`;
    x = preNormLayer(g, x, prefix, eps, {
      attention: (normed) => qwen3Attention(g, config, normed, ropeTable, slidingWindow, `${prefix}.self_attn`),
      mlp: (normed) =>
        isSparse
          ? sparseMlp(g, config, normed, `${prefix}.mlp`)
          : gatedMlp(g, normed, `${prefix}.mlp`, { activation: 'silu', intermediateSize }),
    });
  }
  const hidden = rmsNorm(g, g.outputRows(x), 'model.norm', eps);
  return g.outputs({ hidden, logits: languageModelHead(g, hidden, embedTokens, { isTied }) });
}

/** Three matrices for each of many experts in every layer take a while to lay out, so whether they are there is asked first. */
function requireLastExpert({ isSparse, numExperts }: Qwen3MoeConfig, { hasTensor }: BuildContext): void {
  const layer = isSparse.indexOf(true);
  const name = `model.layers.${layer}.mlp.experts.${numExperts - 1}.gate_proj.weight`;
  if (layer < 0 || !hasTensor || hasTensor(name)) return;
  throw new InvalidModelError(
    `num_experts in config.json is ${numExperts}, but the checkpoint has no tensor ${name}.`,
    {
      details: { key: 'num_experts', value: numExperts, tensor: name },
    },
  );
}

export const qwen3Moe: ModelFamily = {
  modelType: 'qwen3_moe',
  build(configJson, context) {
    const config = parseQwen3MoeConfig(configJson);
    requireLastExpert(config, context);
    const tied = isTied(config, context);
    return modelDefinition(qwen3MoeForCausalLM(config, tied, context.contextLength), config, tied);
  },
};
