import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { changed, layerBoundaries, savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { parseQwen2Config } from './qwen2.ts';

const { config } = savedModel('qwen2');
const parse = (change: Record<string, unknown>) => parseQwen2Config(changed(config, change));

describe('parseQwen2Config', () => {
  it('takes the defaults of Transformers for absent keys', () => {
    const sizes = {
      vocab_size: 10,
      hidden_size: 64,
      intermediate_size: 8,
      num_hidden_layers: 2,
      num_attention_heads: 32,
    };
    expect(parseQwen2Config(sizes)).toMatchObject({
      numKeyValueHeads: 32,
      headDim: 2,
      maxPositionEmbeddings: 32768,
      rmsNormEps: 1e-6,
      rope: { theta: 10000, scaling: { type: 'default' } },
      windows: [null, null],
    });
  });

  const windowed = { layer_types: undefined, use_sliding_window: true, sliding_window: 16, num_hidden_layers: 4 };
  it.each<[string, Record<string, unknown>, (number | null)[]]>([
    [
      'use_sliding_window is false',
      { ...windowed, use_sliding_window: false, max_window_layers: 0 },
      [null, null, null, null],
    ],
    ['the layers from max_window_layers on', { ...windowed, max_window_layers: 2 }, [null, null, 16, 16]],
    ['max_window_layers is 28 when absent', { ...windowed, max_window_layers: undefined }, [null, null, null, null]],
    [
      'sliding_window is 4096 when absent',
      { ...windowed, max_window_layers: 3, sliding_window: undefined },
      [null, null, null, 4096],
    ],
    ['sliding_window is null', { ...windowed, max_window_layers: 0, sliding_window: null }, [null, null, null, null]],
    [
      'layer_types says which',
      { ...windowed, layer_types: ['sliding_attention', 'full_attention', 'sliding_attention', 'full_attention'] },
      [16, null, 16, null],
    ],
  ])('reads windows: %s', (_, change, expected) => {
    expect(parse(change).windows).toEqual(expected);
  });

  it.each<[string, unknown]>([
    ['hidden_act', 'gelu'],
    ['attention_bias', false],
    ['mlp_bias', true],
    ['layer_types', ['full_attention', 'chunked_attention']],
    ['final_logit_softcapping', 30],
    ['rope_scaling', { type: 'mrope', mrope_section: [1, 1, 1] }],
    ['use_mrope', true],
    ['use_bidirectional_attention', true],
    ['quantization_config', { quant_method: 'awq' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(UnsupportedError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['use_sliding_window', 'yes'],
    ['max_window_layers', -1],
    ['layer_types', ['full_attention']],
    ['layer_types', 'full_attention'],
    ['layer_types', [1, 2]],
    // A sliding layer, while use_sliding_window is false.
    ['layer_types', ['full_attention', 'sliding_attention']],
  ])('refuses %s = %j and names the key', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(InvalidModelError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });
});

describe('the Qwen2 graph', () => {
  it.each(['qwen2', 'qwen2 with windows'])('asks for the tensors of the checkpoint: %s', async (name) => {
    const saved = savedModel(name);
    expect(await wantedTensors(saved.config)).toEqual(saved.tensors);
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

  it('keeps windowed layers in a cache group of their own', async () => {
    const { graph } = await buildModel(savedModel('qwen2 with windows').config);
    expect(graph.cacheLayers.map(({ group }) => graph.cacheGroups[group]!.window)).toEqual([null, 16]);
  });
});
