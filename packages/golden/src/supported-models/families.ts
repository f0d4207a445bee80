/**
 * A small model of each family, with every feature of the family switched on. Rows have 256 elements or a multiple, so that
 * every quantized type fits. Weights are random.
 */
export interface FamilySample {
  /** As the table of the documentation says it. */
  readonly label: string;
  readonly config: Readonly<Record<string, unknown>>;
}

const common = {
  vocab_size: 288,
  hidden_size: 256,
  intermediate_size: 256,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  max_position_embeddings: 512,
  rms_norm_eps: 1e-6,
  rope_theta: 10000,
  hidden_act: 'silu',
  tie_word_embeddings: false,
  bos_token_id: 1,
  eos_token_id: 2,
};

/** Windows are shorter than the 256 tokens that are run. */
const window = 48;

export const familySamples = {
  llama: {
    label: 'Llama 1 to 3.2, TinyLlama, SmolLM',
    config: {
      ...common,
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      rope_theta: 500000,
      rope_scaling: {
        rope_type: 'llama3',
        factor: 8,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 8192,
      },
    },
  },
  mistral: {
    label: 'Mistral',
    config: { ...common, architectures: ['MistralForCausalLM'], model_type: 'mistral', sliding_window: window },
  },
  qwen2: {
    label: 'Qwen2, Qwen2.5',
    config: { ...common, architectures: ['Qwen2ForCausalLM'], model_type: 'qwen2', tie_word_embeddings: true },
  },
  qwen3: {
    label: 'Qwen3',
    config: { ...common, architectures: ['Qwen3ForCausalLM'], model_type: 'qwen3', head_dim: 128 },
  },
  gpt2: {
    label: 'GPT-2',
    config: {
      architectures: ['GPT2LMHeadModel'],
      model_type: 'gpt2',
      vocab_size: 288,
      n_embd: 256,
      n_layer: 2,
      n_head: 4,
      n_positions: 512,
      n_inner: null,
      activation_function: 'gelu_new',
      layer_norm_epsilon: 1e-5,
      tie_word_embeddings: true,
      bos_token_id: 1,
      eos_token_id: 2,
    },
  },
  gemma2: {
    label: 'Gemma 2',
    config: {
      ...common,
      architectures: ['Gemma2ForCausalLM'],
      model_type: 'gemma2',
      head_dim: 64,
      hidden_activation: 'gelu_pytorch_tanh',
      hidden_act: 'gelu_pytorch_tanh',
      query_pre_attn_scalar: 64,
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
      sliding_window: window,
      tie_word_embeddings: true,
    },
  },
  gemma3: {
    label: 'Gemma 3 (text)',
    config: {
      ...common,
      architectures: ['Gemma3ForCausalLM'],
      model_type: 'gemma3_text',
      num_hidden_layers: 6,
      head_dim: 64,
      hidden_activation: 'gelu_pytorch_tanh',
      hidden_act: 'gelu_pytorch_tanh',
      query_pre_attn_scalar: 64,
      rope_theta: 1000000,
      rope_local_base_freq: 10000,
      sliding_window: window,
      sliding_window_pattern: 6,
      tie_word_embeddings: true,
    },
  },
  phi3: {
    label: 'Phi-3',
    config: {
      ...common,
      architectures: ['Phi3ForCausalLM'],
      model_type: 'phi3',
      num_key_value_heads: 4,
      sliding_window: window,
      original_max_position_embeddings: 128,
      rope_scaling: {
        type: 'longrope',
        short_factor: Array.from({ length: 32 }, (_, i) => 1 + i / 64),
        long_factor: Array.from({ length: 32 }, (_, i) => 1 + i / 8),
      },
      pad_token_id: 0,
    },
  },
  qwen3moe: {
    label: 'Qwen3 MoE',
    config: {
      ...common,
      architectures: ['Qwen3MoeForCausalLM'],
      model_type: 'qwen3_moe',
      head_dim: 64,
      num_experts: 4,
      num_experts_per_tok: 2,
      moe_intermediate_size: 256,
      norm_topk_prob: true,
      decoder_sparse_step: 1,
      mlp_only_layers: [],
    },
  },
} as const satisfies Record<string, FamilySample>;

export type FamilyName = keyof typeof familySamples;
