import type { WeightSpec } from '@hearth/core';

/** A small model of a family: its config, and the weights that a model of it reads. */
export interface FamilyFixture {
  readonly config: Record<string, unknown>;
  readonly weights: readonly WeightSpec[];
}

export interface FamilySizes {
  readonly numLayers: number;
  readonly numHeads: number;
  readonly numKvHeads: number;
  readonly headDim: number;
  readonly hiddenSize: number;
  readonly intermediateSize: number;
  readonly numExperts: number;
}

/** Everything differs, so that nothing can be taken for another. All are multiples of 32 where blocks lie along them. */
export const smallSizes: FamilySizes = {
  numLayers: 2,
  numHeads: 4,
  numKvHeads: 2,
  headDim: 16,
  hiddenSize: 96,
  intermediateSize: 160,
  numExperts: 3,
};

const vocabSize = 288;
const contextLength = 128;

export const familyNames = [
  ...['llama', 'mistral', 'qwen2', 'qwen3', 'qwen3moe', 'gpt2', 'gemma2', 'gemma3', 'phi3'],
] as const;

/** A model of each family, with the fields that a GGUF file gives back. */
export function familyFixture(name: string, sizes: FamilySizes = smallSizes): FamilyFixture {
  const { numLayers, numHeads, numKvHeads, headDim, hiddenSize, intermediateSize, numExperts } = sizes;
  const decoder = {
    hidden_size: hiddenSize,
    intermediate_size: intermediateSize,
    num_hidden_layers: numLayers,
    num_attention_heads: numHeads,
    num_key_value_heads: numKvHeads,
    head_dim: headDim,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    max_position_embeddings: contextLength,
    vocab_size: vocabSize,
    tie_word_embeddings: false,
  };
  const [queryRows, keyRows] = [numHeads * headDim, numKvHeads * headDim];
  const attention: Shapes = {
    'self_attn.q_proj.weight': [queryRows, hiddenSize],
    'self_attn.k_proj.weight': [keyRows, hiddenSize],
    'self_attn.v_proj.weight': [keyRows, hiddenSize],
    'self_attn.o_proj.weight': [hiddenSize, queryRows],
  };
  const mlp: Shapes = {
    'mlp.gate_proj.weight': [intermediateSize, hiddenSize],
    'mlp.up_proj.weight': [intermediateSize, hiddenSize],
    'mlp.down_proj.weight': [hiddenSize, intermediateSize],
  };
  const norms: Shapes = {
    'input_layernorm.weight': [hiddenSize],
    'post_attention_layernorm.weight': [hiddenSize],
  };
  const headNorms: Shapes = { 'self_attn.q_norm.weight': [headDim], 'self_attn.k_norm.weight': [headDim] };
  const weightsOf = (layer: Shapes, tied = false) => [
    spec('model.embed_tokens.weight', [vocabSize, hiddenSize]),
    ...inLayers('model.layers', numLayers, layer),
    spec('model.norm.weight', [hiddenSize]),
    ...(tied ? [] : [spec('lm_head.weight', [vocabSize, hiddenSize])]),
  ];
  const gemma = (layer: Shapes) =>
    weightsOf({ ...attention, ...mlp, ...norms, ...layer, ...gemmaNorms(hiddenSize) }, true).map((weight) =>
      weight.name.endsWith('norm.weight') ? { ...weight, plus: 1 } : weight,
    );

  switch (name) {
    case 'llama':
      return {
        config: {
          ...{ architectures: ['LlamaForCausalLM'], model_type: 'llama', ...decoder, hidden_act: 'silu' },
          ...{ rope_scaling: null, attention_bias: false, mlp_bias: false },
        },
        weights: weightsOf({ ...attention, ...mlp, ...norms }),
      };
    case 'mistral':
      return {
        config: {
          ...{ architectures: ['MistralForCausalLM'], model_type: 'mistral', ...decoder, hidden_act: 'silu' },
          ...{ rope_scaling: null, attention_bias: false, mlp_bias: false, sliding_window: 32 },
        },
        weights: weightsOf({ ...attention, ...mlp, ...norms }),
      };
    case 'qwen2':
      return {
        config: {
          ...{ architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2', ...decoder, hidden_act: 'silu' },
          ...{ rope_scaling: { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 32 } },
          ...{ use_sliding_window: false },
        },
        weights: weightsOf({
          ...{ ...attention, ...mlp, ...norms, 'self_attn.q_proj.bias': [queryRows] },
          ...{ 'self_attn.k_proj.bias': [keyRows], 'self_attn.v_proj.bias': [keyRows] },
        }),
      };
    case 'qwen3':
      return {
        config: {
          ...{ architectures: ['Qwen3ForCausalLM'], model_type: 'qwen3', ...decoder, hidden_act: 'silu' },
          ...{ rope_scaling: null, attention_bias: false, use_sliding_window: false, tie_word_embeddings: true },
        },
        weights: weightsOf({ ...attention, ...mlp, ...norms, ...headNorms }, true),
      };
    case 'qwen3moe': {
      const experts: Shapes = { 'mlp.gate.weight': [numExperts, hiddenSize] };
      for (let i = 0; i < numExperts; i++) {
        experts[`mlp.experts.${i}.gate_proj.weight`] = [64, hiddenSize];
        experts[`mlp.experts.${i}.up_proj.weight`] = [64, hiddenSize];
        experts[`mlp.experts.${i}.down_proj.weight`] = [hiddenSize, 64];
      }
      return {
        config: {
          ...{ architectures: ['Qwen3MoeForCausalLM'], model_type: 'qwen3_moe', ...decoder, hidden_act: 'silu' },
          ...{ rope_scaling: null, attention_bias: false, use_sliding_window: false, moe_intermediate_size: 64 },
          ...{ num_experts: numExperts, num_experts_per_tok: 2, norm_topk_prob: true },
          ...{ decoder_sparse_step: 1, mlp_only_layers: [] },
        },
        weights: weightsOf({ ...attention, ...norms, ...headNorms, ...experts }),
      };
    }
    case 'gpt2':
      return {
        config: {
          ...{ architectures: ['GPT2LMHeadModel'], model_type: 'gpt2', n_embd: hiddenSize, n_inner: intermediateSize },
          ...{ n_layer: numLayers, n_head: 3, n_positions: contextLength, layer_norm_epsilon: 1e-5 },
          ...{ activation_function: 'gelu_new', vocab_size: vocabSize, tie_word_embeddings: true },
        },
        weights: gpt2Weights(sizes),
      };
    case 'gemma2':
      return {
        config: {
          ...{ architectures: ['Gemma2ForCausalLM'], model_type: 'gemma2', ...decoder, tie_word_embeddings: true },
          ...{ hidden_activation: 'gelu_pytorch_tanh', attention_bias: false, query_pre_attn_scalar: headDim },
          ...{ sliding_window: 32, attn_logit_softcapping: 50, final_logit_softcapping: 30 },
        },
        weights: gemma({}),
      };
    case 'gemma3':
      return {
        config: {
          ...{ architectures: ['Gemma3ForCausalLM'], model_type: 'gemma3_text', ...decoder, tie_word_embeddings: true },
          ...{ rope_theta: 1_000_000, rope_local_base_freq: 10_000, rope_scaling: { rope_type: 'linear', factor: 8 } },
          ...{ hidden_activation: 'gelu_pytorch_tanh', attention_bias: false, query_pre_attn_scalar: headDim },
          ...{ sliding_window: 32, sliding_window_pattern: 6 },
          ...{ attn_logit_softcapping: null, final_logit_softcapping: null },
        },
        weights: gemma(headNorms),
      };
    case 'phi3': {
      const rotaryDim = Math.trunc(0.75 * headDim);
      const factors = (first: number) => Array.from({ length: rotaryDim / 2 }, (_, i) => first + i / 8);
      return {
        config: {
          ...{ architectures: ['Phi3ForCausalLM'], model_type: 'phi3', ...decoder, hidden_act: 'silu' },
          ...{ partial_rotary_factor: 0.75, original_max_position_embeddings: 32, sliding_window: 64 },
          rope_scaling: { type: 'longrope', short_factor: factors(1), long_factor: factors(1.5) },
          attention_bias: false,
        },
        weights: weightsOf({
          ...norms,
          'self_attn.qkv_proj.weight': [queryRows + 2 * keyRows, hiddenSize],
          'self_attn.o_proj.weight': [hiddenSize, queryRows],
          'mlp.gate_up_proj.weight': [2 * intermediateSize, hiddenSize],
          'mlp.down_proj.weight': [hiddenSize, intermediateSize],
        }),
      };
    }
    default:
      throw new Error(`no fixture of ${name}`);
  }
}

type Shapes = Record<string, readonly number[]>;

function spec(name: string, shape: readonly number[]): WeightSpec {
  return { name, role: shape.length === 2 ? 'matrix' : 'vector', shape };
}

function inLayers(prefix: string, numLayers: number, layer: Shapes): WeightSpec[] {
  return Array.from({ length: numLayers }, (_, i) =>
    Object.entries(layer).map(([module, shape]) => spec(`${prefix}.${i}.${module}`, shape)),
  ).flat();
}

function gemmaNorms(hiddenSize: number): Shapes {
  return { 'pre_feedforward_layernorm.weight': [hiddenSize], 'post_feedforward_layernorm.weight': [hiddenSize] };
}

function gpt2Weights({ numLayers, hiddenSize, intermediateSize }: FamilySizes): WeightSpec[] {
  const layer: Shapes = {
    'ln_1.weight': [hiddenSize],
    'ln_1.bias': [hiddenSize],
    'attn.c_attn.weight': [3 * hiddenSize, hiddenSize],
    'attn.c_attn.bias': [3 * hiddenSize],
    'attn.c_proj.weight': [hiddenSize, hiddenSize],
    'attn.c_proj.bias': [hiddenSize],
    'ln_2.weight': [hiddenSize],
    'ln_2.bias': [hiddenSize],
    'mlp.c_fc.weight': [intermediateSize, hiddenSize],
    'mlp.c_fc.bias': [intermediateSize],
    'mlp.c_proj.weight': [hiddenSize, intermediateSize],
    'mlp.c_proj.bias': [hiddenSize],
  };
  return [
    spec('transformer.wte.weight', [vocabSize, hiddenSize]),
    spec('transformer.wpe.weight', [contextLength, hiddenSize]),
    ...inLayers('transformer.h', numLayers, layer).map((weight) =>
      weight.role === 'matrix' ? { ...weight, transposed: true } : weight,
    ),
    spec('transformer.ln_f.weight', [hiddenSize]),
    spec('transformer.ln_f.bias', [hiddenSize]),
  ];
}
