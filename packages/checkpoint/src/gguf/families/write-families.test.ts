import { UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { familyFixture } from '../../__fixtures__/families.ts';
import { architectureOf } from '../architectures.ts';
import { ConfigFields } from '../config-fields.ts';
import { MetadataBuilder } from '../metadata-builder.ts';

/** What a change of a family's config is written as. */
function write(name: string, changes: Record<string, unknown>) {
  const config = { ...familyFixture(name).config, ...changes };
  const architecture = architectureOf(config);
  const metadata = new MetadataBuilder(architecture.name);
  const tensors = architecture.writeMetadata(new ConfigFields(config), metadata);
  return { entries: metadata.entries, tensors };
}

describe('what GGUF cannot say', () => {
  const gemmaScalar = { query_pre_attn_scalar: 256 };
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['llama', { hidden_act: 'gelu' }, /^hidden_act of the config is "gelu"; it must be "silu"/],
    ['llama', { sliding_window: 32 }, /^sliding_window of the config is 32/],
    ['llama', { partial_rotary_factor: 0.5 }, /^partial_rotary_factor of the config is 0\.5; it must be 1/],
    ['llama', { rope_scaling: { rope_type: 'default', factor: 2 } }, /^factor of rope_scaling is not known/],
    ['llama', { layer_types: ['full_attention', 'sliding_attention'] }, /says "sliding_attention" for layer 1/],
    ['qwen2', { use_sliding_window: true }, /^use_sliding_window of the config is true/],
    ['qwen2', { rope_scaling: { type: 'yarn', factor: 2, mscale: 0.7 } }, /^mscale of rope_scaling is not known/],
    ['qwen3moe', { norm_topk_prob: false }, /^norm_topk_prob of the config must be true/],
    ['qwen3moe', { norm_topk_prob: undefined }, /^norm_topk_prob of the config must be true/],
    ['qwen3moe', { decoder_sparse_step: 2 }, /^decoder_sparse_step of the config is 2/],
    ['qwen3moe', { mlp_only_layers: [0] }, /^mlp_only_layers of the config is not empty/],
    ['gpt2', { activation_function: 'relu' }, /^activation_function of the config is "relu"/],
    ['gpt2', { scale_attn_by_inverse_layer_idx: true }, /^scale_attn_by_inverse_layer_idx of the config is true/],
    ['gemma2', gemmaScalar, /^query_pre_attn_scalar of the config is 256; it must be 16/],
    ['gemma2', { hidden_activation: 'gelu' }, /^hidden_activation of the config is "gelu"/],
    ['gemma2', { rope_scaling: { rope_type: 'linear', factor: 2 } }, /type "linear" cannot be written/],
    ['gemma2', { layer_types: ['full_attention', 'full_attention'] }, /says "full_attention" for layer 0/],
    ['gemma3', gemmaScalar, /^query_pre_attn_scalar of the config is 256/],
    ['gemma3', { attn_logit_softcapping: 50 }, /^attn_logit_softcapping of the config is 50/],
    ['gemma3', { rope_local_base_freq: 20_000 }, /^rope_local_base_freq of the config is 20000; it must be 10000/],
    ['gemma3', { sliding_window_pattern: 3 }, /^sliding_window_pattern of the config is 3; it must be 6/],
    ['gemma3', { rope_scaling: { rope_type: 'yarn', factor: 2 } }, /type "yarn" cannot be written/],
    ['phi3', { attention_bias: true }, /^attention_bias of the config is true/],
    ['phi3', { rope_scaling: { rope_type: 'yarn', factor: 2 } }, /type "yarn" cannot be written/],
  ];
  it.each(cases)('%s: %j is refused by name', (name, changes, message) => {
    expect(() => write(name, changes)).toThrow(UnsupportedError);
    expect(() => write(name, changes)).toThrow(message);
  });
});

describe('what GGUF says in other words', () => {
  const written = (name: string, changes: Record<string, unknown>, key: string) =>
    write(name, changes).entries.get(key);

  it('the layers that slide, where they are those of the family', () => {
    const layer_types = ['sliding_attention', 'full_attention'];
    expect(() => write('gemma2', { layer_types })).not.toThrow();
    expect(() => write('gemma3', { layer_types: ['sliding_attention', 'sliding_attention'] })).not.toThrow();
    expect(() => write('phi3', { layer_types: ['sliding_attention', 'sliding_attention'] })).not.toThrow();
  });

  it('the scalar of the 27B models, by their layers', () => {
    const sizes = { hidden_size: 4608, num_attention_heads: 32, head_dim: 128, query_pre_attn_scalar: 144 };
    expect(() => write('gemma2', { ...sizes, num_hidden_layers: 46 })).not.toThrow();
    expect(() => write('gemma2', { ...sizes, num_hidden_layers: 42 })).toThrow(/it must be 128/);
  });

  it('no cap and no window as 0', () => {
    const none = { attn_logit_softcapping: null, final_logit_softcapping: null };
    expect(written('gemma2', none, 'gemma2.attn_logit_softcapping')).toEqual({ type: 'f32', value: 0 });
    expect(written('phi3', { sliding_window: null }, 'phi3.attention.sliding_window')).toEqual({
      type: 'u32',
      value: 0,
    });
  });

  it('longrope as tensors and the factor of the attention', () => {
    const scaling = { type: 'longrope', short_factor: [1, 1, 1, 1, 1, 1], long_factor: [2, 2, 2, 2, 2, 2] };
    const { entries, tensors } = write('phi3', { rope_scaling: scaling });
    expect(tensors.map(({ name, shape }) => [name, shape])).toEqual([
      ['rope_factors_long.weight', [6]],
      ['rope_factors_short.weight', [6]],
    ]);
    // 128 positions are 4 times the 32 it was first trained on: sqrt(1 + ln 4 / ln 32) = sqrt(1.4)
    expect((entries.get('phi3.rope.scaling.attn_factor') as { value: number }).value).toBeCloseTo(Math.sqrt(1.4), 12);
    const given = written(
      'phi3',
      { rope_scaling: { ...scaling, attention_factor: 1.25 } },
      'phi3.rope.scaling.attn_factor',
    );
    expect(given).toEqual({ type: 'f32', value: 1.25 });
    expect(() => write('phi3', { rope_scaling: { ...scaling, type: 'su' } })).not.toThrow();
    for (const long_factor of [[1, 2], [0, 1, 1, 1, 1, 1], 'x', undefined]) {
      expect(() => write('phi3', { rope_scaling: { ...scaling, long_factor } })).toThrow(
        /^long_factor of rope_scaling/,
      );
    }
  });
});
