import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { parseLlamaConfig } from './llama.ts';

const config = {
  architectures: ['LlamaForCausalLM'],
  model_type: 'llama',
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 288,
  max_position_embeddings: 512,
  rms_norm_eps: 1e-5,
  rope_theta: 10000,
  hidden_act: 'silu',
  tie_word_embeddings: false,
  torch_dtype: 'float32',
  bos_token_id: 261,
  eos_token_id: 262,
};

/** The config with some keys changed; undefined takes a key out. */
function changed(change: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries({ ...config, ...change }).filter(([, value]) => value !== undefined));
}

describe('parseLlamaConfig', () => {
  it('reads every key once, in camelCase', () => {
    expect(parseLlamaConfig(config)).toEqual({
      vocabSize: 288,
      hiddenSize: 32,
      intermediateSize: 64,
      numHiddenLayers: 2,
      numAttentionHeads: 4,
      numKeyValueHeads: 2,
      headDim: 8,
      maxPositionEmbeddings: 512,
      rmsNormEps: 1e-5,
      rope: { theta: 10000, rotaryDim: 8, maxPositionEmbeddings: 512, scaling: { type: 'default' } },
      attentionBias: false,
      mlpBias: false,
      tieWordEmbeddings: false,
      bosTokenId: 261,
      eosTokenIds: [262],
    });
  });

  it('takes the defaults of Transformers for absent keys', () => {
    const parsed = parseLlamaConfig({
      hidden_size: 32,
      intermediate_size: 64,
      num_hidden_layers: 1,
      num_attention_heads: 4,
      vocab_size: 10,
    });
    expect(parsed).toMatchObject({
      numKeyValueHeads: 4,
      maxPositionEmbeddings: 2048,
      rmsNormEps: 1e-6,
      rope: { theta: 10000, scaling: { type: 'default' } },
      tieWordEmbeddings: undefined,
      bosTokenId: null,
      eosTokenIds: [],
    });
  });

  it.each([
    ['given', 16, 16],
    ['null', null, 8],
    ['absent', undefined, 8],
  ])('takes a head_dim that is %s', (_, headDim, expected) => {
    expect(parseLlamaConfig(changed({ head_dim: headDim })).headDim).toBe(expected);
  });

  it('takes several end tokens', () => {
    expect(parseLlamaConfig(changed({ eos_token_id: [2, 7] })).eosTokenIds).toEqual([2, 7]);
  });

  it.each<[string, unknown]>([
    ['hidden_act', 'gelu'],
    ['pretraining_tp', 2],
    ['sliding_window', 4096],
    ['use_sliding_window', true],
    ['layer_types', ['full_attention', 'sliding_attention']],
    ['attn_logit_softcapping', 50],
    ['final_logit_softcapping', 30],
    ['query_pre_attn_scalar', 256],
    ['use_bidirectional_attention', true],
    ['add_cross_attention', true],
    ['is_encoder_decoder', true],
    ['lm_head_bias', true],
    ['num_experts', 8],
    ['num_local_experts', 8],
    ['partial_rotary_factor', 0.5],
    ['rope_interleaved', true],
    ['quantization_config', { quant_method: 'gptq' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parseLlamaConfig(changed({ [key]: value }))).toThrow(UnsupportedError);
    expect(() => parseLlamaConfig(changed({ [key]: value }))).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['vocab_size', undefined],
    ['hidden_size', 0],
    ['hidden_size', -32],
    ['hidden_size', 32.5],
    ['hidden_size', '32'],
    ['hidden_size', 1e300],
    ['hidden_size', Number.NaN],
    ['intermediate_size', null],
    ['num_hidden_layers', 1025],
    ['num_hidden_layers', 0],
    ['num_attention_heads', 0],
    ['num_attention_heads', 5],
    ['num_key_value_heads', 0],
    ['num_key_value_heads', 3],
    ['num_key_value_heads', 8],
    ['head_dim', 0],
    ['head_dim', 7],
    ['max_position_embeddings', 2 ** 21],
    ['rms_norm_eps', -1],
    ['rope_theta', 0],
    ['rope_theta', '1e4'],
    ['attention_bias', 'yes'],
    ['tie_word_embeddings', 1],
    ['eos_token_id', -1],
    ['eos_token_id', [1, 'two']],
    ['hidden_act', 3],
  ])('refuses %s = %j and names the key', (key, value) => {
    const parse = () => parseLlamaConfig(changed({ [key]: value }));
    expect(parse).toThrow(key === 'hidden_act' ? UnsupportedError : InvalidModelError);
    expect(parse).toThrow(key);
  });

  it('names an infinity, which JSON text like 1e400 is read as', () => {
    const parse = () => parseLlamaConfig(changed({ rope_theta: JSON.parse('1e400') }));
    expect(parse).toThrow(/rope_theta .* got Infinity\./);
  });

  it.each([[null], [[]], ['llama'], [42]])('refuses %j in place of an object', (json) => {
    expect(() => parseLlamaConfig(json)).toThrow(InvalidModelError);
  });
});

describe('the Llama graph', () => {
  const boundaries = (layer: number) => [
    `model.layers.${layer}.input_layernorm`,
    `model.layers.${layer}.self_attn.q_proj`,
    `model.layers.${layer}.self_attn.k_proj`,
    `model.layers.${layer}.self_attn.v_proj`,
    `model.layers.${layer}.self_attn.q_rope`,
    `model.layers.${layer}.self_attn.k_rope`,
    `model.layers.${layer}.self_attn.attention`,
    `model.layers.${layer}.self_attn.o_proj`,
    `model.layers.${layer}.attn_residual`,
    `model.layers.${layer}.post_attention_layernorm`,
    `model.layers.${layer}.mlp.gate_proj`,
    `model.layers.${layer}.mlp.up_proj`,
    `model.layers.${layer}.mlp.act`,
    `model.layers.${layer}.mlp.down_proj`,
    `model.layers.${layer}`,
  ];

  it('has the boundaries of the checkpoint, in order', async () => {
    const { graph } = await buildModel(config);
    expect(graph.values.map(({ name }) => name)).toEqual([
      'model.rotary_emb',
      'model.embed_tokens',
      ...boundaries(0),
      ...boundaries(1),
      'model.output_rows',
      'model.norm',
      'lm_head',
    ]);
  });

  it.each(['llama', 'llama with biases'])('asks for the tensors of the checkpoint: %s', async (name) => {
    const saved = savedModel(name);
    expect(await wantedTensors(saved.config)).toEqual(saved.tensors);
  });

  it('has heads of another width than hidden_size / num_attention_heads when head_dim says so', async () => {
    const tensors = await wantedTensors(changed({ head_dim: 16 }));
    expect(tensors['model.layers.0.self_attn.q_proj.weight']).toEqual([64, 32]);
    expect(tensors['model.layers.0.self_attn.o_proj.weight']).toEqual([32, 64]);
  });
});
