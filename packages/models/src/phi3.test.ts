import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { changed, layerBoundaries, savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { parsePhi3Config } from './phi3.ts';

const { config, tensors } = savedModel('phi3');
const parse = (change: Record<string, unknown>) => parsePhi3Config(changed(config, change));
const factors = { short_factor: [1, 1, 1], long_factor: [2, 2, 2] };

describe('parsePhi3Config', () => {
  it('takes the defaults of Transformers for absent keys', () => {
    const sizes = {
      vocab_size: 10,
      hidden_size: 64,
      intermediate_size: 8,
      num_hidden_layers: 1,
      num_attention_heads: 8,
    };
    expect(parsePhi3Config(sizes)).toMatchObject({
      numKeyValueHeads: 8,
      headDim: 8,
      maxPositionEmbeddings: 4096,
      rmsNormEps: 1e-5,
      rope: { theta: 10000, rotaryDim: 8, scaling: { type: 'default' } },
      slidingWindow: null,
    });
  });

  it('reads LongRoPE by its old name too, the original length beside it', () => {
    for (const type of ['longrope', 'su']) {
      expect(parse({ rope_scaling: { type, ...factors } }).rope.scaling).toEqual({
        type: 'longrope',
        shortFactor: [1, 1, 1],
        longFactor: [2, 2, 2],
        factor: 4,
        originalMaxPositionEmbeddings: 16,
        attentionFactor: Math.sqrt(1 + Math.log(4) / Math.log(16)),
      });
    }
  });

  it('takes 4096 for the original length when it is absent', () => {
    const { scaling } = parse({ original_max_position_embeddings: undefined, max_position_embeddings: 8192 }).rope;
    expect(scaling).toMatchObject({ factor: 2, originalMaxPositionEmbeddings: 4096 });
  });

  it('rotates a part of each head', () => {
    const half = { rope_scaling: null, head_dim: 16, partial_rotary_factor: 0.75 };
    expect(parse(half).rope).toMatchObject({ rotaryDim: 12, scaling: { type: 'default' } });
  });

  it.each<[string, unknown]>([
    ['hidden_act', 'gelu'],
    ['attention_bias', true],
    ['lm_head_bias', true],
    ['mlp_bias', true],
    ['layer_types', ['full_attention', 'full_attention']],
    ['full_attn_mod', 2],
    // Transformers reads this as longrope, in this family alone.
    ['rope_scaling', { type: 'yarn', factor: 4, ...factors }],
    ['rope_scaling', { type: 'longrope', ...factors, short_mscale: 1.1 }],
    ['quantization_config', { quant_method: 'gptq' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(UnsupportedError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['sliding_window', 0],
    ['partial_rotary_factor', 0.1],
    ['rope_scaling', { type: 'longrope', ...factors, short_factor: [1, 1] }],
    ['original_max_position_embeddings', 1],
  ])('refuses %s = %j and names the key', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(InvalidModelError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });
});

describe('the Phi-3 graph', () => {
  it('asks for the tensors of the checkpoint', async () => {
    expect(await wantedTensors(config)).toEqual(tensors);
  });

  it('has the boundaries of the checkpoint, and the parts of its fused projections', async () => {
    expect(await layerBoundaries(config)).toEqual([
      'input_layernorm',
      'self_attn.qkv_proj',
      'self_attn.q',
      'self_attn.k',
      'self_attn.v',
      'self_attn.q_rope',
      'self_attn.k_rope',
      'self_attn.attention',
      'self_attn.o_proj',
      'attn_residual',
      'post_attention_layernorm',
      'mlp.gate_up_proj',
      'mlp.gate',
      'mlp.up',
      'mlp.act',
      'mlp.down_proj',
      '',
    ]);
  });

  it('chooses the rotary factors by the configured context length, beyond the original one', async () => {
    const first = async (contextLength?: number) => {
      const { graph, contextLength: longest } = await buildModel(config, { contextLength });
      expect(longest).toBe(64);
      return graph.ropes[0]!.invFreq[0];
    };
    expect([await first(16), await first(17), await first(64), await first()]).toEqual([1, 0.5, 0.5, 0.5]);
  });

  it('windows every layer', async () => {
    expect((await buildModel(config)).graph.cacheGroups).toEqual([{ window: 8 }]);
  });
});
