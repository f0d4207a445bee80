import type { Activation } from '@hearth/core';
import type { GraphBuilder, Value, Weight } from '@hearth/graph';

/** x · Wᵀ (+ bias), named by its checkpoint prefix. [rows, x.width] -> [rows, outWidth] */
export function linear(g: GraphBuilder, x: Value, prefix: string, outWidth: number, hasBias = false): Value {
  const weight = g.weight(`${prefix}.weight`, [outWidth, x.width]);
  const bias = hasBias ? g.weight(`${prefix}.bias`, [outWidth]) : null;
  return g.linear(x, weight, { bias });
}

export interface RmsNormForm {
  /** Columns that are normalised together; a head's, say. Default: the whole row. */
  readonly width?: number;
  /** What the checkpoint lacks of each weight (Gemma keeps weight − 1). */
  readonly plus?: number;
}

/** x / rms(x) · weight (Zhang and Sennrich 2019), named by its checkpoint prefix. [rows, x.width] -> the same */
export function rmsNorm(g: GraphBuilder, x: Value, prefix: string, eps: number, form: RmsNormForm = {}): Value {
  const { width = x.width, ...stored } = form;
  return g.rmsNorm(x, g.weight(`${prefix}.weight`, [width], stored), eps);
}

/** down(activation(gate(x)) · up(x)) (GLU variants, Shazeer 2020). [tokens, hidden] -> [tokens, hidden] */
export function gatedMlp(
  g: GraphBuilder,
  x: Value,
  prefix: string,
  mlp: { readonly activation: Activation; readonly intermediateSize: number; readonly hasBias?: boolean },
): Value {
  const { activation, intermediateSize, hasBias = false } = mlp;
  const gate = linear(g, x, `${prefix}.gate_proj`, intermediateSize, hasBias);
  const up = linear(g, x, `${prefix}.up_proj`, intermediateSize, hasBias);
  const activated = g.gatedActivation(activation, gate, up, { name: `${prefix}.act` });
  return linear(g, activated, `${prefix}.down_proj`, x.width, hasBias);
}

/**
 * A decoder layer that normalises before attention and before its MLP, each added to what it read.
 * [tokens, hidden] -> [tokens, hidden]
 *
 * @param parts attention and MLP of the family, [tokens, hidden] -> [tokens, hidden]
 */
export function preNormLayer(
  g: GraphBuilder,
  x: Value,
  prefix: string,
  eps: number,
  parts: { readonly attention: (x: Value) => Value; readonly mlp: (x: Value) => Value },
): Value {
  const attended = parts.attention(rmsNorm(g, x, `${prefix}.input_layernorm`, eps));
  const residual = g.add(x, attended, { name: `${prefix}.attn_residual` });
  const transformed = parts.mlp(rmsNorm(g, residual, `${prefix}.post_attention_layernorm`, eps));
  return g.add(residual, transformed, { name: prefix });
}

/** Logits over the vocabulary, from the embedding table when the two are tied. [outputs, hidden] -> [outputs, vocabSize] */
export function languageModelHead(
  g: GraphBuilder,
  hidden: Value,
  embedTokens: Weight,
  options: { readonly isTied: boolean; readonly name?: string },
): Value {
  const [vocabSize, hiddenSize] = embedTokens.shape as [number, number];
  const head = options.isTied ? embedTokens : g.weight('lm_head.weight', [vocabSize, hiddenSize]);
  return g.linear(hidden, head, { name: options.name ?? 'lm_head' });
}
