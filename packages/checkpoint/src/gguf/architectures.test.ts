import { UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { findArchitecture, toGgufName, toHuggingFaceName } from './architectures.ts';

const llama = findArchitecture('llama', 'model.gguf');

const names = [
  ['token_embd.weight', 'model.embed_tokens.weight'],
  ['output_norm.weight', 'model.norm.weight'],
  ['output.weight', 'lm_head.weight'],
  ['blk.0.attn_norm.weight', 'model.layers.0.input_layernorm.weight'],
  ['blk.10.attn_q.weight', 'model.layers.10.self_attn.q_proj.weight'],
  ['blk.10.attn_q.bias', 'model.layers.10.self_attn.q_proj.bias'],
  ['blk.1.attn_k.weight', 'model.layers.1.self_attn.k_proj.weight'],
  ['blk.1.attn_v.weight', 'model.layers.1.self_attn.v_proj.weight'],
  ['blk.1.attn_output.weight', 'model.layers.1.self_attn.o_proj.weight'],
  ['blk.1.ffn_norm.weight', 'model.layers.1.post_attention_layernorm.weight'],
  ['blk.1.ffn_gate.weight', 'model.layers.1.mlp.gate_proj.weight'],
  ['blk.1.ffn_up.weight', 'model.layers.1.mlp.up_proj.weight'],
  ['blk.1.ffn_down.weight', 'model.layers.1.mlp.down_proj.weight'],
] as const;

describe('names of llama', () => {
  for (const [stored, name] of names) {
    it(`${stored} is ${name}`, () => {
      expect(toHuggingFaceName(llama, stored)?.name).toBe(name);
      expect(toGgufName(llama, name)?.storedName).toBe(stored);
    });
  }

  it('has no name for anything else', () => {
    for (const stored of [
      'blk.0.ffn_gate_exps.weight',
      'blk.01.attn_q.weight',
      'blk.-1.attn_q.weight',
      'blk.1e3.attn_q.weight',
      'blk.0.attn_q',
      'constructor',
      'blk.0.constructor.weight',
      '',
    ]) {
      expect(toHuggingFaceName(llama, stored), stored).toBeNull();
    }
    for (const name of [
      'model.layers.0.self_attn.q_norm.weight',
      'model.layers.00.mlp.up_proj.weight',
      'lm_head.bias',
      'toString',
    ]) {
      expect(toGgufName(llama, name), name).toBeNull();
    }
  });

  it('gives layer and module of tensors in layers', () => {
    expect(toHuggingFaceName(llama, 'blk.12.attn_k.bias')).toEqual({
      name: 'model.layers.12.self_attn.k_proj.bias',
      layer: 12,
      module: 'self_attn.k_proj',
    });
  });
});

describe('findArchitecture', () => {
  it('refuses an unknown architecture by name', () => {
    expect(() => findArchitecture('qwen9', 'model.gguf')).toThrow(UnsupportedError);
    expect(() => findArchitecture('qwen9', 'model.gguf')).toThrow(/model\.gguf: the GGUF architecture "qwen9".*llama/);
  });
});
