/** config.json of a model, as far as it says what is computed. */
export type ShapeConfig = Readonly<Record<string, unknown>> & { readonly num_hidden_layers: number };

const llama = { model_type: 'llama', architectures: ['LlamaForCausalLM'], hidden_act: 'silu', rms_norm_eps: 1e-5 };
const qwen2 = { model_type: 'qwen2', architectures: ['Qwen2ForCausalLM'], hidden_act: 'silu', rms_norm_eps: 1e-6 };

const llama32 = {
  ...llama,
  num_key_value_heads: 8,
  vocab_size: 128_256,
  max_position_embeddings: 131_072,
  rope_theta: 500_000,
  rope_scaling: {
    rope_type: 'llama3',
    factor: 32,
    low_freq_factor: 1,
    high_freq_factor: 4,
    original_max_position_embeddings: 8192,
  },
  tie_word_embeddings: true,
};

const qwen25 = {
  ...qwen2,
  num_key_value_heads: 2,
  vocab_size: 151_936,
  max_position_embeddings: 32_768,
  rope_theta: 1_000_000,
  tie_word_embeddings: true,
};

/** Sizes of published models, from their config.json; nothing else of them is here. */
export const shapes = {
  /** TinyLlama/TinyLlama-1.1B-Chat-v1.0 */
  'llama-1.1b': {
    ...llama,
    hidden_size: 2048,
    intermediate_size: 5632,
    num_hidden_layers: 22,
    num_attention_heads: 32,
    num_key_value_heads: 4,
    vocab_size: 32_000,
    max_position_embeddings: 2048,
    rope_theta: 10_000,
    tie_word_embeddings: false,
  },
  /** HuggingFaceTB/SmolLM2-135M */
  'smollm2-135m': {
    ...llama,
    hidden_size: 576,
    intermediate_size: 1536,
    num_hidden_layers: 30,
    num_attention_heads: 9,
    num_key_value_heads: 3,
    vocab_size: 49_152,
    max_position_embeddings: 8192,
    rope_theta: 100_000,
    tie_word_embeddings: true,
  },
  /** Qwen/Qwen2.5-0.5B-Instruct */
  'qwen2.5-0.5b': {
    ...qwen25,
    hidden_size: 896,
    intermediate_size: 4864,
    num_hidden_layers: 24,
    num_attention_heads: 14,
  },
  /** Qwen/Qwen2.5-1.5B-Instruct */
  'qwen2.5-1.5b': {
    ...qwen25,
    hidden_size: 1536,
    intermediate_size: 8960,
    num_hidden_layers: 28,
    num_attention_heads: 12,
  },
  /** meta-llama/Llama-3.2-1B */
  'llama-3.2-1b': {
    ...llama32,
    hidden_size: 2048,
    intermediate_size: 8192,
    num_hidden_layers: 16,
    num_attention_heads: 32,
    head_dim: 64,
  },
  /** meta-llama/Llama-3.2-3B */
  'llama-3.2-3b': {
    ...llama32,
    hidden_size: 3072,
    intermediate_size: 8192,
    num_hidden_layers: 28,
    num_attention_heads: 24,
    head_dim: 128,
  },
} as const satisfies Readonly<Record<string, ShapeConfig>>;

export type ShapeName = keyof typeof shapes;

export const shapeNames = Object.keys(shapes) as ShapeName[];
