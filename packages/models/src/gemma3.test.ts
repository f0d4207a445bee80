import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { changed, layerBoundaries, savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { parseGemma3Config } from './gemma3.ts';

const { config } = savedModel('gemma3');
const parse = (change: Record<string, unknown>) => parseGemma3Config(changed(config, change));

describe('parseGemma3Config', () => {
  it('takes the defaults of Transformers for absent keys', () => {
    const sizes = {
      vocab_size: 10,
      hidden_size: 64,
      intermediate_size: 8,
      num_hidden_layers: 7,
      num_attention_heads: 8,
    };
    expect(parseGemma3Config(sizes)).toMatchObject({
      numKeyValueHeads: 4,
      headDim: 256,
      maxPositionEmbeddings: 131072,
      rmsNormEps: 1e-6,
      globalRope: { theta: 1_000_000, scaling: { type: 'default' } },
      localRope: { theta: 10_000, scaling: { type: 'default' } },
      attentionBias: false,
      queryPreAttnScalar: 256,
      finalLogitSoftcapping: null,
      windows: [4096, 4096, 4096, 4096, 4096, null, 4096],
    });
  });

  it('reads the pattern of local and global layers in either spelling; layer_types counts first', () => {
    const bare = { layer_types: undefined, sliding_window_pattern: undefined, _sliding_window_pattern: undefined };
    expect(parse({ ...bare, sliding_window_pattern: 2 }).windows).toEqual([16, null]);
    expect(parse({ ...bare, _sliding_window_pattern: 1 }).windows).toEqual([null, null]);
    expect(parse({ layer_types: ['full_attention', 'full_attention'] }).windows).toEqual([null, null]);
  });

  it('scales the global layers only, in the spellings of Transformers 4 and 5', () => {
    const linear = { rope_type: 'linear', factor: 8 };
    const rope_parameters = {
      full_attention: { ...linear, rope_theta: 1_000_000 },
      sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
    };
    const four = parse({ rope_scaling: linear });
    const five = parse({ rope_theta: undefined, rope_local_base_freq: undefined, rope_parameters });
    expect(four.globalRope.scaling).toEqual({ type: 'linear', factor: 8 });
    expect(four.localRope.scaling).toEqual({ type: 'default' });
    expect(five).toEqual(four);
  });

  it.each<[string, unknown]>([
    ['hidden_activation', 'gelu'],
    ['hidden_act', 'silu'],
    ['attn_logit_softcapping', 50],
    ['use_bidirectional_attention', true],
    ['use_bidirectional_attention', 'all'],
    ['mlp_bias', true],
    ['layer_types', ['full_attention', 'chunked_attention']],
    ['rope_parameters', { rope_type: 'default' }],
    ['quantization_config', { quant_method: 'gptq' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(UnsupportedError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['query_pre_attn_scalar', 0],
    ['final_logit_softcapping', -1],
    ['sliding_window', 0],
    ['sliding_window', null],
    ['sliding_window_pattern', 0],
    ['rope_local_base_freq', 0],
    ['layer_types', ['full_attention']],
  ])('refuses %s = %j and names the key', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(InvalidModelError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });
});

describe('the Gemma 3 graph', () => {
  it.each(['gemma3', 'gemma3 with biases'])('asks for the tensors of the checkpoint: %s', async (name) => {
    const saved = savedModel(name);
    expect(await wantedTensors(saved.config)).toEqual(saved.tensors);
  });

  it('adds 1 to the weights of every norm, those of the heads included, and to no other', async () => {
    const { weights } = await buildModel(config);
    for (const { name, plus } of weights) expect([name, plus]).toEqual([name, name.includes('norm') ? 1 : undefined]);
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

  it('rotates local and global layers by tables of their own', async () => {
    const { graph } = await buildModel({ ...config, rope_scaling: { rope_type: 'linear', factor: 8 } });
    const tableOf = (name: string) => {
      const rope = graph.nodes.find((node) => node.kind === 'rope' && graph.values[node.out]!.name === name);
      const table = graph.nodes.find(
        (node) => node.kind === 'rope-table' && rope?.kind === 'rope' && node.out === rope.table,
      );
      return graph.ropes[table?.kind === 'rope-table' ? table.rope : -1]!.invFreq;
    };
    expect(graph.ropes).toHaveLength(2);
    const local = tableOf('model.layers.0.self_attn.q_rope');
    const global = tableOf('model.layers.1.self_attn.k_rope');
    // 10000^(-1/4) and 1000000^(-1/4) / 8, to within their roundings.
    expect([local[0], local[1]]).toEqual([1, Math.fround(0.1)]);
    expect([global[0], global[1]! * 8]).toEqual([0.125, expect.closeTo(1_000_000 ** -0.25, 8)]);
  });

  it('caps the logits when the config says so', async () => {
    const { graph } = await buildModel(savedModel('gemma3 with biases').config);
    expect(graph.nodes.find(({ kind }) => kind === 'softcap')).toMatchObject({ cap: 20 });
  });
});
