import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { changed, layerBoundaries, savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { parseMistralConfig } from './mistral.ts';

const { config, tensors } = savedModel('mistral');
const parse = (change: Record<string, unknown>) => parseMistralConfig(changed(config, change));

describe('parseMistralConfig', () => {
  it('takes the defaults of Transformers for absent keys', () => {
    const sizes = {
      vocab_size: 10,
      hidden_size: 64,
      intermediate_size: 8,
      num_hidden_layers: 1,
      num_attention_heads: 8,
    };
    expect(parseMistralConfig(sizes)).toMatchObject({
      numKeyValueHeads: 8,
      headDim: 8,
      maxPositionEmbeddings: 131072,
      rmsNormEps: 1e-6,
      rope: { theta: 10000, scaling: { type: 'default' } },
      slidingWindow: 4096,
    });
  });

  it('has no window when sliding_window is null, which is not the same as leaving it out', () => {
    expect(parse({ sliding_window: null }).slidingWindow).toBeNull();
    expect(parse({ sliding_window: undefined }).slidingWindow).toBe(4096);
    expect(parse({ sliding_window: 7 }).slidingWindow).toBe(7);
  });

  it('has as many KV heads as heads when num_key_value_heads is null', () => {
    expect(parse({ num_key_value_heads: null }).numKeyValueHeads).toBe(4);
  });

  it.each<[string, unknown]>([
    ['hidden_act', 'gelu'],
    ['attention_bias', true],
    ['mlp_bias', true],
    ['layer_types', ['full_attention', 'sliding_attention']],
    ['attn_logit_softcapping', 50],
    ['partial_rotary_factor', 0.5],
    ['quantization_config', { quant_method: 'gptq' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(UnsupportedError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['sliding_window', 0],
    ['sliding_window', '4096'],
    ['sliding_window', 1.5],
    ['hidden_size', undefined],
    ['num_key_value_heads', 8],
  ])('refuses %s = %j and names the key', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(InvalidModelError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });
});

describe('the Mistral graph', () => {
  it('asks for the tensors of the checkpoint', async () => {
    expect(await wantedTensors(config)).toEqual(tensors);
  });

  it('has the boundaries of the checkpoint', async () => {
    expect(await layerBoundaries(config)).toEqual([
      'input_layernorm',
      'self_attn.q_proj',
      'self_attn.k_proj',
      'self_attn.v_proj',
      'self_attn.q_rope',
      'self_attn.k_rope',
      'self_attn.attention',
      'self_attn.o_proj',
      'attn_residual',
      'post_attention_layernorm',
      'mlp.gate_proj',
      'mlp.up_proj',
      'mlp.act',
      'mlp.down_proj',
      '',
    ]);
  });

  it('windows every layer, or none', async () => {
    expect((await buildModel(config)).graph.cacheGroups).toEqual([{ window: 16 }]);
    expect((await buildModel({ ...config, sliding_window: null })).graph.cacheGroups).toEqual([{ window: null }]);
  });
});
