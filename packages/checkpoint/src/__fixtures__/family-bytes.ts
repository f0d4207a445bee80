import { counting, entry, f32, type GgufBytes, type TensorBytes, text, u32, type ValueTypeName } from './gguf-bytes.ts';

/** Values of metadata keys; undefined leaves a key out. Names that start with a dot belong to the architecture. */
export type KeyChanges = Readonly<Record<string, readonly [ValueTypeName, Uint8Array] | undefined>>;

type Dims = Readonly<Record<string, readonly number[]>>;

const attention: Dims = { attn_q: [8, 8], attn_k: [8, 4], attn_v: [8, 4], attn_output: [8, 8] };
const mlp: Dims = { ffn_gate: [8, 12], ffn_up: [8, 12], ffn_down: [12, 8] };
const norms: Dims = { attn_norm: [8], ffn_norm: [8] };
const headNorms: Dims = { attn_q_norm: [4], attn_k_norm: [4] };
const gemmaNorms: Dims = { post_attention_norm: [8], post_ffw_norm: [8] };

/** Modules of a layer, dimensions as in the file: fastest first. Hidden size 8, 2 heads over 1 KV head, 3 experts. */
const layers: Readonly<Record<string, Dims>> = {
  llama: { ...attention, ...mlp, ...norms },
  qwen2: { ...attention, ...mlp, ...norms },
  qwen3: { ...attention, ...mlp, ...norms, ...headNorms },
  qwen3moe: {
    ...{ ...attention, ...norms, ...headNorms, ffn_gate_inp: [8, 3] },
    ...{ ffn_gate_exps: [8, 6, 3], ffn_up_exps: [8, 6, 3], ffn_down_exps: [6, 8, 3] },
  },
  gpt2: { ...norms, attn_qkv: [8, 24], attn_output: [8, 8], ffn_up: [8, 12], ffn_down: [12, 8] },
  gemma2: { ...attention, ...mlp, ...norms, ...gemmaNorms },
  gemma3: { ...attention, ...mlp, ...norms, ...headNorms, ...gemmaNorms },
  phi3: { ...norms, attn_qkv: [8, 16], attn_output: [8, 8], ffn_up: [8, 24], ffn_down: [12, 8] },
};

/** The keys that every file of the family has. */
function keysOf(architecture: string, numLayers: number): KeyChanges {
  const eps = architecture === 'gpt2' ? '.attention.layer_norm_epsilon' : '.attention.layer_norm_rms_epsilon';
  return {
    'general.architecture': ['string', text(architecture)],
    '.context_length': ['u32', u32(64)],
    '.embedding_length': ['u32', u32(8)],
    '.block_count': ['u32', u32(numLayers)],
    '.feed_forward_length': ['u32', u32(12)],
    '.attention.head_count': ['u32', u32(2)],
    ...(architecture !== 'gpt2' && { '.attention.head_count_kv': ['u32', u32(1)] as const }),
    [eps]: ['f32', f32(1e-6)],
    ...(architecture === 'qwen3moe' && {
      '.expert_count': ['u32', u32(3)] as const,
      '.expert_used_count': ['u32', u32(2)] as const,
      '.expert_feed_forward_length': ['u32', u32(6)] as const,
    }),
    ...(architecture === 'gemma3' && {
      '.rope.freq_base': ['f32', f32(1e6)] as const,
      '.attention.sliding_window': ['u32', u32(16)] as const,
    }),
  };
}

/** A small file of a family, put together byte by byte; data of every tensor counts 0, 1, 2 ... */
export function familyBytes(
  architecture: string,
  { keys = {}, numLayers = 1, moreTensors = [] }: FamilyChanges = {},
): GgufBytes & { readonly tensors: readonly TensorBytes[] } {
  const all = { ...keysOf(architecture, numLayers), ...keys };
  const entries = Object.entries(all).flatMap(([key, value]) =>
    value ? [entry(key.startsWith('.') ? architecture + key : key, value[0], value[1])] : [],
  );
  const tensor = (name: string, dims: readonly number[]): TensorBytes => {
    return { name, dims, data: counting(dims.reduce((product, dim) => product * dim, 1)) };
  };
  const tensors = [tensor('token_embd.weight', [8, 16]), tensor('output_norm.weight', [8])];
  if (architecture === 'gpt2') tensors.push(tensor('position_embd.weight', [8, 64]));
  for (let layer = 0; layer < numLayers; layer++) {
    for (const [module, dims] of Object.entries(layers[architecture]!)) {
      tensors.push(tensor(`blk.${layer}.${module}.weight`, dims));
    }
  }
  return { entries, tensors: [...tensors, ...moreTensors] };
}

export interface FamilyChanges {
  readonly keys?: KeyChanges;
  readonly numLayers?: number;
  readonly moreTensors?: readonly TensorBytes[];
}

export const architectureNames = Object.keys(layers);
