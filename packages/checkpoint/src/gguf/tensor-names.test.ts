import { describe, expect, it } from 'vitest';
import { findArchitecture } from './architectures.ts';
import { toGgufName, toHuggingFaceName } from './tensor-names.ts';

const namesOf = (architecture: string) => findArchitecture(architecture, 'model.gguf').tensors;
const llama = namesOf('llama');

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
      isExperts: false,
    });
  });
});

describe('names of other families', () => {
  const pairs: [string, string, string][] = [
    ['qwen2', 'blk.1.attn_v.bias', 'model.layers.1.self_attn.v_proj.bias'],
    ['qwen3', 'blk.1.attn_q_norm.weight', 'model.layers.1.self_attn.q_norm.weight'],
    ['qwen3moe', 'blk.1.ffn_gate_inp.weight', 'model.layers.1.mlp.gate.weight'],
    ['gpt2', 'position_embd.weight', 'transformer.wpe.weight'],
    ['gpt2', 'blk.1.attn_qkv.bias', 'transformer.h.1.attn.c_attn.bias'],
    ['gpt2', 'blk.1.ffn_up.weight', 'transformer.h.1.mlp.c_fc.weight'],
    ['gpt2', 'output_norm.bias', 'transformer.ln_f.bias'],
    ['gemma2', 'blk.1.post_attention_norm.weight', 'model.layers.1.post_attention_layernorm.weight'],
    ['gemma2', 'blk.1.ffn_norm.weight', 'model.layers.1.pre_feedforward_layernorm.weight'],
    ['gemma2', 'blk.1.post_ffw_norm.weight', 'model.layers.1.post_feedforward_layernorm.weight'],
    ['gemma3', 'blk.1.attn_k_norm.weight', 'model.layers.1.self_attn.k_norm.weight'],
    ['phi3', 'blk.1.attn_qkv.weight', 'model.layers.1.self_attn.qkv_proj.weight'],
    ['phi3', 'blk.1.ffn_up.weight', 'model.layers.1.mlp.gate_up_proj.weight'],
  ];
  for (const [architecture, stored, name] of pairs) {
    it(`${architecture}: ${stored} is ${name}`, () => {
      expect(toHuggingFaceName(namesOf(architecture), stored)?.name).toBe(name);
      expect(toGgufName(namesOf(architecture), name)?.storedName).toBe(stored);
    });
  }

  it('has one stored tensor for a module of all experts', () => {
    const names = namesOf('qwen3moe');
    expect(toHuggingFaceName(names, 'blk.3.ffn_up_exps.weight')).toEqual({
      name: 'model.layers.3.mlp.experts.*.up_proj.weight',
      layer: 3,
      module: 'mlp.experts.*.up_proj',
      isExperts: true,
    });
    expect(toGgufName(names, 'model.layers.3.mlp.experts.17.up_proj.weight')).toEqual({
      storedName: 'blk.3.ffn_up_exps.weight',
      module: 'mlp.experts.17.up_proj',
      expert: 17,
    });
    for (const name of ['mlp.experts.*.up_proj', 'mlp.experts.01.up_proj', 'mlp.experts.1.shared']) {
      expect(toGgufName(names, `model.layers.3.${name}.weight`), name).toBeNull();
    }
  });

  it('knows the names of GPT-2 without their start, as in the first release', () => {
    expect(toGgufName(namesOf('gpt2'), 'h.0.ln_1.weight')?.storedName).toBe('blk.0.attn_norm.weight');
    expect(toGgufName(namesOf('gpt2'), 'wte.weight')?.storedName).toBe('token_embd.weight');
  });
});
