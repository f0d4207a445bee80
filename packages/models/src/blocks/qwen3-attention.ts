import type { GraphBuilder, Value } from '@hearth/graph';
import { headsOf, projectHeads, rotate } from './attention.ts';
import type { DecoderConfig } from './decoder-config.ts';
import { linear, rmsNorm } from './layers.ts';

/**
 * The attention of Qwen3, dense and with experts: grouped queries, and RMSNorm over each head of q and k before they are rotated
 * (Henry et al. 2020, Dehghani et al. 2023). [tokens, hidden] -> [tokens, hidden]
 */
export function qwen3Attention(
  g: GraphBuilder,
  config: DecoderConfig & { readonly attentionBias: boolean },
  x: Value,
  ropeTable: Value,
  window: number | null,
  prefix: string,
): Value {
  const { hiddenSize, headDim, rmsNormEps: eps, attentionBias } = config;
  const heads = headsOf(config);
  // 1. Project: q [tokens, numHeads · headDim], k and v [tokens, numKvHeads · headDim]
  let { q, k, v } = projectHeads(g, x, prefix, heads, attentionBias);
  // 2. Normalise each head of queries and keys by itself
  q = rmsNorm(g, q, `${prefix}.q_norm`, eps, { width: headDim });
  k = rmsNorm(g, k, `${prefix}.k_norm`, eps, { width: headDim });
  // 3. Rotate them by their positions
  ({ q, k } = rotate(g, q, k, ropeTable, prefix, headDim));
  // 4. Attend: softmax(q · kᵀ / sqrt(headDim)) · v
  const attributes = { name: `${prefix}.attention`, ...heads, scale: 1 / Math.sqrt(headDim), window };
  // 5. Project back
  return linear(g, g.attention(q, k, v, attributes), `${prefix}.o_proj`, hiddenSize, attentionBias);
}
