import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { changed, layerBoundaries, savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { parseQwen3Config } from './qwen3.ts';

const { config } = savedModel('qwen3');
const parse = (change: Record<string, unknown>) => parseQwen3Config(changed(config, change));

describe('parseQwen3Config', () => {
  it('takes the defaults of Transformers for absent keys', () => {
    const sizes = {
      vocab_size: 10,
      hidden_size: 64,
      intermediate_size: 8,
      num_hidden_layers: 1,
      num_attention_heads: 32,
    };
    expect(parseQwen3Config(sizes)).toMatchObject({
      numKeyValueHeads: 32,
      // Not hidden_size / num_attention_heads.
      headDim: 128,
      maxPositionEmbeddings: 32768,
      rmsNormEps: 1e-6,
      rope: { theta: 10000, scaling: { type: 'default' } },
      attentionBias: false,
      windows: [null],
    });
  });

  it('reads windows as Qwen2 does', () => {
    const change = { layer_types: undefined, use_sliding_window: true, sliding_window: 16, max_window_layers: 1 };
    expect(parse(change).windows).toEqual([null, 16]);
  });

  it.each<[string, unknown]>([
    ['hidden_act', 'gelu'],
    ['mlp_bias', true],
    ['num_experts', 8],
    ['layer_types', ['full_attention', 'linear_attention']],
    ['attn_logit_softcapping', 50],
    ['quantization_config', { quant_method: 'fp8' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(UnsupportedError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['head_dim', 7],
    ['attention_bias', 'true'],
    ['num_key_value_heads', 3],
  ])('refuses %s = %j and names the key', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(InvalidModelError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });
});

describe('the Qwen3 graph', () => {
  it.each(['qwen3', 'qwen3 with biases'])('asks for the tensors of the checkpoint: %s', async (name) => {
    const saved = savedModel(name);
    expect(await wantedTensors(saved.config)).toEqual(saved.tensors);
  });

  it('has the boundaries of the checkpoint', async () => {
    expect(await layerBoundaries(config)).toEqual([
      'input_layernorm',
      'self_attn.q_proj',
      'self_attn.k_proj',
      'self_attn.v_proj',
      'self_attn.q_norm',
      'self_attn.k_norm',
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

  it('normalises each head by itself', async () => {
    const { graph } = await buildModel(config);
    const norm = graph.nodes.find(
      (node) => node.kind === 'rms-norm' && graph.weights[node.weight]!.name.includes('q_norm'),
    );
    const { width } = graph.values[norm?.kind === 'rms-norm' ? norm.out : -1]!;
    expect([width, graph.weights.find(({ name }) => name.includes('q_norm'))!.shape]).toEqual([32, [8]]);
  });
});
