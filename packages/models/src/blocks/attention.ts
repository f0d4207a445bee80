import type { GraphBuilder, Value } from '@hearth/graph';
import type { DecoderConfig } from './decoder-config.ts';
import { linear } from './layers.ts';

/** Query heads, and the key and value heads that groups of them share (Ainslie et al. 2023). */
export interface Heads {
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
}

export function headsOf({ numAttentionHeads, numKeyValueHeads, headDim }: DecoderConfig): Heads {
  return { numHeads: numAttentionHeads, numKvHeads: numKeyValueHeads, headDim };
}

/** [tokens, hidden] -> q [tokens, numHeads · headDim], k and v [tokens, numKvHeads · headDim] */
export function projectHeads(g: GraphBuilder, x: Value, prefix: string, heads: Heads, hasBias = false) {
  const { numHeads, numKvHeads, headDim } = heads;
  return {
    q: linear(g, x, `${prefix}.q_proj`, numHeads * headDim, hasBias),
    k: linear(g, x, `${prefix}.k_proj`, numKvHeads * headDim, hasBias),
    v: linear(g, x, `${prefix}.v_proj`, numKvHeads * headDim, hasBias),
  };
}

/** Rotates queries and keys by their positions. */
export function rotate(g: GraphBuilder, q: Value, k: Value, table: Value, prefix: string, headDim: number) {
  return {
    q: g.rope(q, table, { name: `${prefix}.q_rope`, headDim }),
    k: g.rope(k, table, { name: `${prefix}.k_rope`, headDim }),
  };
}
