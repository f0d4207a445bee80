import type { TensorNames } from '../architecture.ts';

/** Names of decoders that are called like Llama's; families take them over and say what differs. */
export const llamaNames = {
  globals: new Map([
    ['token_embd.weight', 'model.embed_tokens.weight'],
    ['output_norm.weight', 'model.norm.weight'],
    ['output.weight', 'lm_head.weight'],
  ]),
  layerPrefix: 'model.layers',
  modules: new Map([
    ['attn_norm', 'input_layernorm'],
    ['attn_q', 'self_attn.q_proj'],
    ['attn_k', 'self_attn.k_proj'],
    ['attn_v', 'self_attn.v_proj'],
    ['attn_output', 'self_attn.o_proj'],
    ['ffn_norm', 'post_attention_layernorm'],
    ['ffn_gate', 'mlp.gate_proj'],
    ['ffn_up', 'mlp.up_proj'],
    ['ffn_down', 'mlp.down_proj'],
  ]),
  // rope_freqs becomes rope_scaling of the config; attn_rot_embd are inverse frequencies that old converters wrote.
  ignoredStored: /^rope_freqs\.weight$|^blk\.\d+\.attn_rot_embd(\.weight)?$/,
  ignoredHuggingFace: /(^|\.)rotary_emb\.inv_freq$/,
} as const satisfies TensorNames;

/** RMSNorm of each head's queries and keys. */
export const headNorms = [
  ['attn_q_norm', 'self_attn.q_norm'],
  ['attn_k_norm', 'self_attn.k_norm'],
] as const;
