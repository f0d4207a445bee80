import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { changed, layerBoundaries, savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { parseGemma2Config } from './gemma2.ts';

const { config, tensors } = savedModel('gemma2');
const parse = (change: Record<string, unknown>) => parseGemma2Config(changed(config, change));

describe('parseGemma2Config', () => {
  it('takes the defaults of Transformers for absent keys', () => {
    const sizes = {
      vocab_size: 10,
      hidden_size: 64,
      intermediate_size: 8,
      num_hidden_layers: 3,
      num_attention_heads: 8,
    };
    expect(parseGemma2Config(sizes)).toMatchObject({
      numKeyValueHeads: 4,
      headDim: 256,
      maxPositionEmbeddings: 8192,
      rmsNormEps: 1e-6,
      rope: { theta: 10000, scaling: { type: 'default' } },
      attentionBias: false,
      queryPreAttnScalar: 256,
      attnLogitSoftcapping: 50,
      finalLogitSoftcapping: 30,
      windows: [4096, null, 4096],
    });
  });

  it('has no cap where the key is null', () => {
    expect(parse({ attn_logit_softcapping: null }).attnLogitSoftcapping).toBeNull();
    expect(parse({ final_logit_softcapping: null }).finalLogitSoftcapping).toBeNull();
  });

  it('reads layer_types', () => {
    expect(parse({ layer_types: ['full_attention', 'sliding_attention'] }).windows).toEqual([null, 16]);
  });

  it.each<[string, unknown]>([
    ['hidden_activation', 'gelu'],
    ['hidden_act', 'silu'],
    ['mlp_bias', true],
    ['use_bidirectional_attention', true],
    ['use_sliding_window', true],
    ['layer_types', ['full_attention', 'chunked_attention']],
    ['quantization_config', { quant_method: 'gptq' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(UnsupportedError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['query_pre_attn_scalar', 0],
    ['attn_logit_softcapping', 0],
    ['final_logit_softcapping', '30'],
    ['sliding_window', 0],
    ['sliding_window', null],
    ['layer_types', ['full_attention']],
    ['attention_bias', 0],
  ])('refuses %s = %j and names the key', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(InvalidModelError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });
});

describe('the Gemma 2 graph', () => {
  it('asks for the tensors of the checkpoint', async () => {
    expect(await wantedTensors(config)).toEqual(tensors);
  });

  it('adds 1 to the weights of every norm, and to no other', async () => {
    const { weights } = await buildModel(config);
    for (const { name, plus } of weights) expect([name, plus]).toEqual([name, name.includes('norm') ? 1 : undefined]);
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
      'post_attention_layernorm',
      'attn_residual',
      'pre_feedforward_layernorm',
      'mlp.gate_proj',
      'mlp.up_proj',
      'mlp.act',
      'mlp.down_proj',
      'post_feedforward_layernorm',
      '',
    ]);
  });

  it('scales embeddings and scores, and caps scores and logits', async () => {
    const { graph } = await buildModel(config);
    const attentions = graph.nodes.filter(({ kind }) => kind === 'attention');
    expect(graph.nodes.find(({ kind }) => kind === 'embed')).toMatchObject({ scale: Math.fround(Math.sqrt(24)) });
    const common = { scale: Math.fround(1 / Math.sqrt(12)), softcap: 50 };
    expect(attentions).toMatchObject([
      { ...common, window: 16 },
      { ...common, window: null },
    ]);
    expect(graph.nodes.find(({ kind }) => kind === 'softcap')).toMatchObject({ cap: 30 });
    expect(graph.values.slice(-2).map(({ name }) => name)).toEqual(['lm_head.linear', 'lm_head']);
  });

  it('has no softcap without a cap', async () => {
    const { graph } = await buildModel({ ...config, final_logit_softcapping: null, attn_logit_softcapping: null });
    expect(graph.nodes.some(({ kind }) => kind === 'softcap')).toBe(false);
    expect(graph.nodes.find(({ kind }) => kind === 'attention')).toMatchObject({ softcap: null });
    expect(graph.values.at(-1)!.name).toBe('lm_head');
  });
});
