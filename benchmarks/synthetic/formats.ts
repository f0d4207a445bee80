import type { QuantizePlan, QuantizeRule } from '@hearth/checkpoint';

/** What the writer has to know of a model to choose types. */
export interface FormatModel {
  readonly numLayers: number;
  /** The embedding table is the head as well. */
  readonly isTied: boolean;
}

/** Which type each weight has in a file of that name. Where rows do not fit blocks of 256, the plan's stand-ins do (docs/quantize.md). */
export const formats = {
  f16: () => ({ dtype: 'f16' }),
  q8_0: () => ({ dtype: 'q8_0' }),
  q4_0: () => ({ dtype: 'q4_0' }),
  q4_k_m: mediumMix,
} as const satisfies Readonly<Record<string, (model: FormatModel) => QuantizePlan>>;

export type FormatName = keyof typeof formats;

export const formatNames = Object.keys(formats) as FormatName[];

/**
 * Q4_K_M as llama.cpp mixes it: q4_k, with q6_k for the head (so also for a tied table) and for `v_proj` and `down_proj` of
 * about half of the layers: the first eighth, the last eighth, and every third between.
 */
function mediumMix({ numLayers, isTied }: FormatModel): QuantizePlan {
  const eighth = Math.floor(numLayers / 8);
  const last = Math.floor((7 * numLayers) / 8);
  const isFiner = (layer: number) => layer < eighth || layer >= last || (layer - eighth) % 3 === 2;
  const rules: QuantizeRule[] = isTied ? [] : [{ pattern: 'lm_head.weight', dtype: 'q6_k' }];
  for (let layer = 0; layer < numLayers; layer++) {
    if (!isFiner(layer)) continue;
    for (const module of ['self_attn.v_proj', 'mlp.down_proj']) {
      rules.push({ pattern: `model.layers.${layer}.${module}.weight`, dtype: 'q6_k' });
    }
  }
  return { dtype: 'q4_k', embeddingDtype: isTied ? 'q6_k' : 'q4_k', rules };
}
