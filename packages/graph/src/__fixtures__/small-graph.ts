import type { Graph } from '../graph.ts';
import { GraphBuilder } from '../graph-builder.ts';

/** One or more decoder layers with odd widths, the shape of every Llama-like model. */
export function smallGraph(numLayers = 1): Graph {
  const g = new GraphBuilder({ name: 'small', hiddenSize: 12, vocabSize: 21, contextLength: 64 });
  const table = g.ropeTable({ invFreq: Float32Array.of(1, 0.01), rotaryDim: 4, attentionScaling: 1 });
  let x = g.embed(g.weight('embed.weight', [21, 12]));
  for (let layer = 0; layer < numLayers; layer++) {
    const p = `layers.${layer}`;
    const normed = g.rmsNorm(x, g.weight(`${p}.norm.weight`, [12]), 1e-5);
    const q = g.rope(g.linear(normed, g.weight(`${p}.q_proj.weight`, [12, 12])), table, {
      name: `${p}.q_rope`,
      headDim: 4,
    });
    const k = g.rope(g.linear(normed, g.weight(`${p}.k_proj.weight`, [4, 12])), table, {
      name: `${p}.k_rope`,
      headDim: 4,
    });
    const v = g.linear(normed, g.weight(`${p}.v_proj.weight`, [4, 12]), { bias: g.weight(`${p}.v_proj.bias`, [4]) });
    const attended = g.attention(q, k, v, {
      name: `${p}.attention`,
      numHeads: 3,
      numKvHeads: 1,
      headDim: 4,
      scale: 0.5,
    });
    const o = g.linear(attended, g.weight(`${p}.o_proj.weight`, [12, 12]));
    const residual = g.add(x, o, { name: `${p}.attn_residual` });
    const mlpIn = g.rmsNorm(residual, g.weight(`${p}.mlp_norm.weight`, [12]), 1e-5);
    const gate = g.linear(mlpIn, g.weight(`${p}.gate_proj.weight`, [20, 12]));
    const up = g.linear(mlpIn, g.weight(`${p}.up_proj.weight`, [20, 12]));
    const act = g.gatedActivation('silu', gate, up, { name: `${p}.act` });
    x = g.add(residual, g.linear(act, g.weight(`${p}.down_proj.weight`, [12, 20])), { name: p });
  }
  const hidden = g.rmsNorm(g.outputRows(x), g.weight('norm.weight', [12]), 1e-5);
  return g.outputs({ hidden, logits: g.linear(hidden, g.weight('lm_head.weight', [21, 12])) });
}
