import type { ConfigReader } from './config-reader.ts';

/** Settings that change what a network computes, the values that change nothing, and what the others would ask for. */
const settings: readonly (readonly [key: string, harmless: readonly unknown[], what: string])[] = [
  ['quantization_config', [], 'a checkpoint in this quantized form'],
  ['is_encoder_decoder', [false], 'an encoder'],
  ['add_cross_attention', [false], 'attention to an encoder'],
  ['use_bidirectional_attention', [false], 'attention to later tokens'],
  ['pretraining_tp', [1], 'splitting the projections'],
  ['attention_bias', [false], 'a bias in the attention of this family'],
  ['mlp_bias', [false], 'a bias in the MLP of this family'],
  ['lm_head_bias', [false], 'a bias of the head'],
  ['use_mrope', [false], 'positions in several dimensions'],
  ['full_attn_mod', [1], 'full attention in some layers only'],
  ['sliding_window', [], 'windowed attention in this family'],
  ['use_sliding_window', [false], 'windowed attention in this family'],
  ['layer_types', [], 'a choice of attention for each layer in this family'],
  ['attn_logit_softcapping', [], 'capping the scores in this family'],
  ['final_logit_softcapping', [], 'capping the logits in this family'],
  ['query_pre_attn_scalar', [], 'a scale of the scores in this family'],
  ['num_experts', [0], 'a mixture of experts in this family'],
  ['num_local_experts', [0], 'a mixture of experts in this family'],
];

/**
 * Refuses, by name, settings that a family does not do and that would change its results. A config may carry keys of other
 * families as long as they say that nothing is changed.
 *
 * @param own the keys that the family reads itself
 * @throws UnsupportedError
 */
export function refuseOtherSettings(config: ConfigReader, own: readonly string[] = []): void {
  for (const [key, harmless, what] of settings) {
    if (!own.includes(key)) config.refuseUnless(key, harmless, what);
  }
}
