import type { GraphBuilder, Value, Weight } from '@hearth/graph';
import type { ConfigReader } from './config-reader.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { gatedMlp, languageModelHead, rmsNorm } from './layers.ts';

/** A cap of logits or scores: null when the key says null, `fallback` when it is absent. */
export function readCap(config: ConfigReader, key: string, fallback: number | null): number | null {
  if (fallback === null && !config.has(key)) return null;
  return config.orNull(key, () => config.number(key, { min: 1e-3, max: 1e6, ...(fallback && { default: fallback }) }));
}

/** x / rms(x) · (1 + weight): Gemma's checkpoints hold weight − 1. [rows, x.width] -> the same */
export function gemmaNorm(
  g: GraphBuilder,
  { rmsNormEps }: Pick<DecoderConfig, 'rmsNormEps'>,
  x: Value,
  prefix: string,
  width = x.width,
): Value {
  return rmsNorm(g, x, prefix, rmsNormEps, { width, plus: 1 });
}

/**
 * A layer of Gemma 2 and 3: attention and MLP, each normalised before and after. [tokens, hidden] -> [tokens, hidden]
 * @param attention [tokens, hidden] -> [tokens, hidden]
 */
export function gemmaLayer(
  g: GraphBuilder,
  config: DecoderConfig,
  x: Value,
  prefix: string,
  attention: (x: Value) => Value,
): Value {
  const { intermediateSize } = config;
  const attended = attention(gemmaNorm(g, config, x, `${prefix}.input_layernorm`));
  const postAttention = gemmaNorm(g, config, attended, `${prefix}.post_attention_layernorm`);
  const residual = g.add(x, postAttention, { name: `${prefix}.attn_residual` });
  const normed = gemmaNorm(g, config, residual, `${prefix}.pre_feedforward_layernorm`);
  const transformed = gatedMlp(g, normed, `${prefix}.mlp`, { activation: 'gelu-tanh', intermediateSize });
  const postMlp = gemmaNorm(g, config, transformed, `${prefix}.post_feedforward_layernorm`);
  return g.add(residual, postMlp, { name: prefix });
}

/** Logits, capped when there is a cap. [outputs, hidden] -> [outputs, vocabSize] */
export function cappedHead(
  g: GraphBuilder,
  hidden: Value,
  embedTokens: Weight,
  isTied: boolean,
  cap: number | null,
): Value {
  if (cap === null) return languageModelHead(g, hidden, embedTokens, { isTied });
  const logits = languageModelHead(g, hidden, embedTokens, { isTied, name: 'lm_head.linear' });
  return g.softcap(logits, cap, { name: 'lm_head' });
}
