import { UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { architectureOf, findArchitecture } from './architectures.ts';

describe('findArchitecture', () => {
  it('refuses an unknown architecture by name', () => {
    expect(() => findArchitecture('qwen9', 'model.gguf')).toThrow(UnsupportedError);
    expect(() => findArchitecture('qwen9', 'model.gguf')).toThrow(/model\.gguf: the GGUF architecture "qwen9".*llama/);
  });
});

describe('architectureOf', () => {
  it('goes by model_type, and takes a config without one for a Llama', () => {
    expect(architectureOf({ model_type: 'mistral' }).name).toBe('llama');
    expect(architectureOf({ model_type: 'gemma3_text' }).name).toBe('gemma3');
    expect(architectureOf({}).name).toBe('llama');
    expect(architectureOf({ architectures: ['LlamaForCausalLM'] }).name).toBe('llama');
    expect(() => architectureOf({ architectures: ['Qwen2ForCausalLM'] })).toThrow(/no model_type.*Qwen2ForCausalLM/);
    for (const model_type of ['qwen9', 7]) expect(() => architectureOf({ model_type })).toThrow(UnsupportedError);
  });
});
