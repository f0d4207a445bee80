import { UnsupportedError } from '@hearth/core';

/** How the tensors of one GGUF architecture are named in Hugging Face checkpoints. */
export interface GgufArchitecture {
  /** `general.architecture`, and the prefix of its metadata keys. */
  readonly name: string;
  /** Name of a tensor outside the layers, GGUF to Hugging Face. */
  readonly globalTensors: ReadonlyMap<string, string>;
  /** Module within a layer, GGUF (`attn_q`) to Hugging Face (`self_attn.q_proj`). */
  readonly layerModules: ReadonlyMap<string, string>;
  /** Hugging Face modules whose rows are stored in rope pairs (see rope-rows.ts), and which head count cuts them. */
  readonly ropeModules: ReadonlyMap<string, 'num_attention_heads' | 'num_key_value_heads'>;
  /** Tensors that hold nothing which the config does not hold; they are left out. */
  readonly ignoredTensors: RegExp;
}

const llama: GgufArchitecture = {
  name: 'llama',
  globalTensors: new Map([
    ['token_embd.weight', 'model.embed_tokens.weight'],
    ['output_norm.weight', 'model.norm.weight'],
    ['output.weight', 'lm_head.weight'],
  ]),
  layerModules: new Map([
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
  ropeModules: new Map([
    ['self_attn.q_proj', 'num_attention_heads'],
    ['self_attn.k_proj', 'num_key_value_heads'],
  ]),
  // rope_freqs becomes rope_scaling of the config (llama-config.ts); attn_rot_embd are inverse frequencies that old converters wrote.
  ignoredTensors: /^rope_freqs\.weight$|^blk\.\d+\.attn_rot_embd(\.weight)?$/,
};

const architectures: ReadonlyMap<string, GgufArchitecture> = new Map([[llama.name, llama]]);

/** @throws UnsupportedError that names the architecture and those that are known */
export function findArchitecture(name: string, path: string): GgufArchitecture {
  const architecture = architectures.get(name);
  if (architecture) return architecture;
  throw new UnsupportedError(
    `${path}: the GGUF architecture "${name}" is not supported; supported are: ${[...architectures.keys()].join(', ')}.`,
    { details: { path, architecture: name } },
  );
}

/** A tensor name taken apart: `blk.3.attn_q.weight` has layer 3, module `self_attn.q_proj`. */
export interface HuggingFaceName {
  readonly name: string;
  /** Null outside the layers. */
  readonly layer: number | null;
  /** Within the layer, without `.weight` or `.bias`; null outside the layers. */
  readonly module: string | null;
}

/** The Hugging Face name of a GGUF tensor; null when this architecture has no such tensor. */
export function toHuggingFaceName(architecture: GgufArchitecture, storedName: string): HuggingFaceName | null {
  const globalName = architecture.globalTensors.get(storedName);
  if (globalName) return { name: globalName, layer: null, module: null };
  const match = /^blk\.(0|[1-9]\d{0,8})\.(\w+)\.(weight|bias)$/.exec(storedName);
  const module = match && architecture.layerModules.get(match[2]!);
  if (!module) return null;
  return { name: `model.layers.${match[1]}.${module}.${match[3]}`, layer: Number(match[1]), module };
}

/** The GGUF name of a Hugging Face tensor, and the module it belongs to; null when this architecture has no such tensor. */
export function toGgufName(
  architecture: GgufArchitecture,
  name: string,
): { storedName: string; module: string | null } | null {
  for (const [stored, huggingFace] of architecture.globalTensors) {
    if (huggingFace === name) return { storedName: stored, module: null };
  }
  const match = /^model\.layers\.(0|[1-9]\d{0,8})\.([\w.]+)\.(weight|bias)$/.exec(name);
  if (!match) return null;
  for (const [stored, module] of architecture.layerModules) {
    if (module === match[2]) return { storedName: `blk.${match[1]}.${stored}.${match[3]}`, module };
  }
  return null;
}
