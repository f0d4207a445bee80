import { type Graph, GraphBuilder, type Value } from '@hearth/graph';
import { ConfigReader, type NumberOptions } from './blocks/config-reader.ts';
import { numHeadsRange, numLayersRange, positionsRange, readTokens, size } from './blocks/decoder-config.ts';
import { languageModelHead } from './blocks/layers.ts';
import { isTied, modelDefinition } from './blocks/model-definition.ts';
import { refuseOtherSettings } from './blocks/refuse-settings.ts';
import type { ModelFamily } from './model-family.ts';

/** GPT-2 (Radford et al. 2019): config.json of `GPT2LMHeadModel`, its names in camelCase. */
export interface Gpt2Config {
  readonly vocabSize: number;
  readonly nEmbd: number;
  readonly nInner: number;
  readonly nLayer: number;
  readonly nHead: number;
  readonly nPositions: number;
  readonly layerNormEpsilon: number;
  readonly tieWordEmbeddings: boolean | undefined;
  readonly bosTokenId: number | null;
  readonly eosTokenIds: readonly number[];
}

/**
 * Reads and checks a GPT-2 config. Absent keys have the defaults of Transformers, sizes must be there. `reorder_and_upcast_attn`
 * is let be: it moves the scale into the product and computes the scores in float32, which they are here anyway.
 * @throws InvalidModelError | UnsupportedError that names the key
 */
export function parseGpt2Config(json: unknown): Gpt2Config {
  const config = new ConfigReader(json);
  config.refuseUnless('activation_function', ['gelu_new', 'gelu_pytorch_tanh'], 'this activation');
  config.refuseUnless('scale_attn_weights', [true], 'attention without a scale');
  config.refuseUnless('scale_attn_by_inverse_layer_idx', [false], 'a scale of attention by layer');
  // Absent is true in Transformers, and null is not.
  if (config.orNull('scale_attn_weights', () => true) === null) config.fail('scale_attn_weights', 'true or left out');
  refuseOtherSettings(config);
  const nEmbd = readSize(config, 'n_embd', 'hidden_size', size);
  const nHead = readSize(config, 'n_head', 'num_attention_heads', numHeadsRange);
  if (nEmbd % nHead !== 0) config.fail('n_head', `a divisor of n_embd (${nEmbd})`);
  return {
    vocabSize: config.integer('vocab_size', size),
    nEmbd,
    nInner: config.integer('n_inner', { ...size, default: 4 * nEmbd }),
    nLayer: readSize(config, 'n_layer', 'num_hidden_layers', numLayersRange),
    nHead,
    nPositions: readSize(config, 'n_positions', 'max_position_embeddings', { ...positionsRange, default: 1024 }),
    layerNormEpsilon: config.number('layer_norm_epsilon', { min: 0, max: 1, default: 1e-5 }),
    ...readTokens(config),
  };
}

/** A size under its own name, or under that of the other families, which Transformers takes for the same key. */
function readSize(config: ConfigReader, key: string, otherName: string, range: NumberOptions): number {
  const value = config.integer(config.has(otherName) && !config.has(key) ? otherName : key, range);
  if (config.has(otherName) && config.raw(otherName) !== value) {
    config.fail(otherName, `${value}, because ${key}, which is the same, says so`);
  }
  return value;
}

/** x · W + b, W stored as [in, out] (Conv1D). [tokens, x.width] -> [tokens, outWidth] */
function conv1d(g: GraphBuilder, x: Value, prefix: string, outWidth: number): Value {
  const weight = g.weight(`${prefix}.weight`, [outWidth, x.width], { transposed: true });
  return g.linear(x, weight, { bias: g.weight(`${prefix}.bias`, [outWidth]) });
}

/** (x − mean) / sqrt(var + eps) · weight + bias (Ba et al. 2016). */
function layerNorm(g: GraphBuilder, config: Gpt2Config, x: Value, prefix: string): Value {
  const [weight, bias] = [g.weight(`${prefix}.weight`, [x.width]), g.weight(`${prefix}.bias`, [x.width])];
  return g.layerNorm(x, weight, bias, config.layerNormEpsilon);
}

/** Multi-head attention; positions are in x already. [tokens, nEmbd] -> [tokens, nEmbd] */
function attention(g: GraphBuilder, { nEmbd, nHead }: Gpt2Config, x: Value, prefix: string): Value {
  const parts = ['q', 'k', 'v'].map((name) => ({ name: `${prefix}.${name}`, width: nEmbd }));
  const [q, k, v] = g.split(conv1d(g, x, `${prefix}.c_attn`, 3 * nEmbd), parts) as [Value, Value, Value];
  const headDim = nEmbd / nHead;
  const heads = { numHeads: nHead, numKvHeads: nHead, headDim, scale: 1 / Math.sqrt(headDim) };
  return conv1d(g, g.attention(q, k, v, { name: `${prefix}.attention`, ...heads }), `${prefix}.c_proj`, nEmbd);
}

/** c_proj(gelu(c_fc(x))). [tokens, nEmbd] -> [tokens, nEmbd] */
function mlp(g: GraphBuilder, { nEmbd, nInner }: Gpt2Config, x: Value, prefix: string): Value {
  const activated = g.activation('gelu-tanh', conv1d(g, x, `${prefix}.c_fc`, nInner), { name: `${prefix}.act` });
  return conv1d(g, activated, `${prefix}.c_proj`, nEmbd);
}

/** @param base `transformer.`, or nothing in checkpoints that were saved without the head */
function gpt2LMHeadModel(config: Gpt2Config, isTied: boolean, base: string): Graph {
  const { vocabSize, nEmbd, nPositions } = config;
  const shape = { vocabSize, hiddenSize: nEmbd, contextLength: nPositions };
  const g = new GraphBuilder({ name: 'GPT2LMHeadModel', ...shape });
  const wte = g.weight(`${base}wte.weight`, [vocabSize, nEmbd]);
  const wpe = g.weight(`${base}wpe.weight`, [nPositions, nEmbd]);
  let x = g.add(g.embed(wte), g.embedPositions(wpe), { name: `${base}embed` });
  for (let layer = 0; layer < config.nLayer; layer++) {
    const prefix = `${base}h.${layer}`;
    const attended = attention(g, config, layerNorm(g, config, x, `${prefix}.ln_1`), `${prefix}.attn`);
    x = g.add(x, attended, { name: `${prefix}.attn_residual` });
    const transformed = mlp(g, config, layerNorm(g, config, x, `${prefix}.ln_2`), `${prefix}.mlp`);
    x = g.add(x, transformed, { name: prefix });
  }
  const hidden = layerNorm(g, config, g.outputRows(x, `${base}output_rows`), `${base}ln_f`);
  return g.outputs({ hidden, logits: languageModelHead(g, hidden, wte, { isTied }) });
}

export const gpt2: ModelFamily = {
  modelType: 'gpt2',
  build(configJson, context) {
    const config = parseGpt2Config(configJson);
    const tied = isTied(config, context, 'tied');
    const graph = gpt2LMHeadModel(config, tied, context.hasTensor?.('wte.weight') ? '' : 'transformer.');
    const { nLayer, nHead, nEmbd } = config;
    const facts = {
      numHiddenLayers: nLayer,
      numAttentionHeads: nHead,
      numKeyValueHeads: nHead,
      headDim: nEmbd / nHead,
    };
    // Old exports carry the causal mask of each layer, and the number that it put in place of masked scores.
    return modelDefinition(graph, { ...config, ...facts }, tied, [/(^|\.)h\.\d+\.attn\.(bias|masked_bias)$/]);
  },
};
