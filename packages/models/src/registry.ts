import type { ModelFamily } from './model-family.ts';

/** Architecture names, as in `architectures` of config.json, and the file that defines each. Loaded when asked for. */
export const modelFamilies: Readonly<Record<string, () => Promise<ModelFamily>>> = {
  LlamaForCausalLM: async () => (await import('./llama.ts')).llama,
  MistralForCausalLM: async () => (await import('./mistral.ts')).mistral,
  Qwen2ForCausalLM: async () => (await import('./qwen2.ts')).qwen2,
  Qwen3ForCausalLM: async () => (await import('./qwen3.ts')).qwen3,
  Qwen3MoeForCausalLM: async () => (await import('./qwen3-moe.ts')).qwen3Moe,
  GPT2LMHeadModel: async () => (await import('./gpt2.ts')).gpt2,
  Gemma2ForCausalLM: async () => (await import('./gemma2.ts')).gemma2,
  Gemma3ForCausalLM: async () => (await import('./gemma3.ts')).gemma3,
  Phi3ForCausalLM: async () => (await import('./phi3.ts')).phi3,
};
