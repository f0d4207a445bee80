import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { changed, layerBoundaries, savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { parseQwen3MoeConfig } from './qwen3-moe.ts';

const { config, tensors } = savedModel('qwen3-moe');
const parse = (change: Record<string, unknown>) => parseQwen3MoeConfig(changed(config, change));

describe('parseQwen3MoeConfig', () => {
  it('takes the defaults of Transformers for absent keys', () => {
    const sizes = {
      vocab_size: 10,
      hidden_size: 64,
      intermediate_size: 8,
      moe_intermediate_size: 6,
      num_hidden_layers: 2,
      num_attention_heads: 8,
    };
    expect(parseQwen3MoeConfig(sizes)).toMatchObject({
      numKeyValueHeads: 4,
      headDim: 8,
      maxPositionEmbeddings: 32768,
      attentionBias: false,
      slidingWindow: null,
      numExperts: 128,
      numExpertsPerToken: 8,
      normTopkProb: false,
      isSparse: [true, true],
    });
  });

  it.each<[string, Record<string, unknown>, boolean[]]>([
    ['all but mlp_only_layers', { mlp_only_layers: [1, 2] }, [true, false, false, true]],
    ['every second by decoder_sparse_step', { decoder_sparse_step: 2 }, [false, true, false, true]],
    ['both', { mlp_only_layers: [3], decoder_sparse_step: 2 }, [false, true, false, false]],
    ['none', { decoder_sparse_step: 5 }, [false, false, false, false]],
  ])('knows the layers with experts: %s', (_, change, expected) => {
    expect(parse({ mlp_only_layers: [], num_hidden_layers: 4, ...change }).isSparse).toEqual(expected);
  });

  it('windows all layers with use_sliding_window', () => {
    expect(parse({ use_sliding_window: true, sliding_window: 16 }).slidingWindow).toBe(16);
    expect(parse({ use_sliding_window: false, sliding_window: 16 }).slidingWindow).toBeNull();
  });

  it.each<[string, unknown]>([
    ['hidden_act', 'gelu'],
    ['num_local_experts', 8],
    ['layer_types', ['full_attention', 'full_attention']],
    ['attn_logit_softcapping', 50],
    ['quantization_config', { quant_method: 'fp8' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(UnsupportedError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['num_experts', 0],
    // Two layers with more experts than any model has.
    ['num_experts', 2 ** 16],
    ['num_experts_per_tok', 0],
    ['num_experts_per_tok', 4],
    ['moe_intermediate_size', undefined],
    ['norm_topk_prob', 1],
    ['mlp_only_layers', [2]],
    ['mlp_only_layers', 0],
    ['decoder_sparse_step', 0],
  ])('refuses %s = %j and names the key', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(InvalidModelError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });
});

describe('the graph of Qwen3 with experts', () => {
  it('asks for the tensors of the checkpoint', async () => {
    expect(await wantedTensors(config)).toEqual(tensors);
  });

  it('has the boundaries of the checkpoint: one MLP in a dense layer, router and experts in the others', async () => {
    const attention = [
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
    ];
    expect(await layerBoundaries(config, 'model.layers.0')).toEqual([
      ...attention,
      'mlp.gate_proj',
      'mlp.up_proj',
      'mlp.act',
      'mlp.down_proj',
      '',
    ]);
    expect(await layerBoundaries(config, 'model.layers.1')).toEqual([...attention, 'mlp.gate', 'mlp', '']);
  });

  it('is refused by the number of experts when the checkpoint has fewer, before all of them are laid out', async () => {
    const build = (num_experts: number) =>
      buildModel({ ...config, num_experts }, { tensorNames: Object.keys(tensors) });
    expect((await build(3)).architecture).toBe('Qwen3MoeForCausalLM');
    await expect(build(4)).rejects.toThrow(InvalidModelError);
    await expect(build(4)).rejects.toThrow(
      /num_experts in config.json is 4, but .* no tensor model\.layers\.1\.mlp\.experts\.3\./,
    );
  });

  it('routes as the config says', async () => {
    for (const normalizeWeights of [true, false]) {
      const { graph } = await buildModel({ ...config, norm_topk_prob: normalizeWeights });
      const [moe, ...others] = graph.nodes.filter(({ kind }) => kind === 'moe-mlp');
      expect(moe).toMatchObject({ numExpertsPerToken: 2, normalizeWeights, activation: 'silu' });
      expect(others).toEqual([]);
    }
  });
});
