import { InvalidModelError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import type { KeyChanges } from '../../__fixtures__/family-bytes.ts';
import { array, u8 } from '../../__fixtures__/gguf-bytes.ts';
import { configOf, expectRefusal, f32Key, open, textKey, u32Key } from '../../__fixtures__/open-family.ts';
import { readTensor } from '../../tensor/read-tensor.ts';

describe('gemma2', () => {
  it('takes what the first files do not say for what all released models have', async () => {
    const config = await configOf('gemma2');
    expect(config).toMatchObject({ sliding_window: 4096, attn_logit_softcapping: 50, final_logit_softcapping: 30 });
    expect(config).toMatchObject({
      query_pre_attn_scalar: 4,
      rope_theta: 10_000,
      hidden_activation: 'gelu_pytorch_tanh',
    });
  });

  it('reads window and caps, where 0 is none', async () => {
    const keys = {
      '.attention.sliding_window': u32Key(9),
      '.attn_logit_softcapping': f32Key(0.1),
      '.final_logit_softcapping': f32Key(0),
    };
    const config = await configOf('gemma2', keys);
    expect(config).toMatchObject({ sliding_window: 9, attn_logit_softcapping: 0.1, final_logit_softcapping: null });
  });

  it('scales the attention of the 27B by its hidden size', async () => {
    const tall = { '.attention.key_length': u32Key(4) };
    expect((await configOf('gemma2', tall, { numLayers: 46 })).query_pre_attn_scalar).toBe(4);
    const wide = { ...tall, '.embedding_length': u32Key(24) };
    expect((await configOf('gemma2', wide, { numLayers: 46 })).query_pre_attn_scalar).toBe(12);
    expect((await configOf('gemma2', wide, { numLayers: 42 })).query_pre_attn_scalar).toBe(4);
  });

  it('takes off the 1 that the file has added to norms, and to norms only', async () => {
    const checkpoint = await open('gemma2');
    const first = async (name: string) => (await readTensor(checkpoint.tensors.get(name)!))[0];
    for (const name of [
      'input_layernorm',
      'post_attention_layernorm',
      'pre_feedforward_layernorm',
      'post_feedforward_layernorm',
    ]) {
      expect(await first(`model.layers.0.${name}.weight`), name).toBe(-1);
    }
    expect(await first('model.norm.weight')).toBe(-1);
    expect(await first('model.layers.0.mlp.up_proj.weight')).toBe(0);
    expect(await first('model.embed_tokens.weight')).toBe(0);
    await checkpoint.close();
  });

  it('refuses other layers that slide', async () => {
    const pattern = (value: number) => ({ '.attention.sliding_window_pattern': u32Key(value) });
    expect((await configOf('gemma2', pattern(2))).model_type).toBe('gemma2');
    await expectRefusal('gemma2', { keys: pattern(3) }, /sliding_window_pattern" must be 2/);
  });

  it('refuses scaling, which it does not have', async () => {
    await expectRefusal(
      'gemma2',
      { keys: { '.rope.scaling.factor': f32Key(2) } },
      /rope\.scaling\.type" is "linear"; supported are none/,
    );
  });
});

it.each(['gemma2', 'gemma3'])('%s: refuses frequency factors, which it does not have', async (architecture) => {
  const factors = { moreTensors: [{ name: 'rope_freqs.weight', dims: [2] }] };
  await expectRefusal(architecture, factors, new RegExp(`"rope_freqs.weight" is not one that a ${architecture} model`));
});

describe('gemma3', () => {
  it('has a rotary base for each kind of layer, and scaling for those that attend to everything', async () => {
    expect(await configOf('gemma3')).toMatchObject({
      ...{ rope_theta: 1e6, rope_local_base_freq: 10_000, rope_scaling: null, final_logit_softcapping: null },
      ...{ sliding_window: 16, sliding_window_pattern: 6, query_pre_attn_scalar: 4, model_type: 'gemma3_text' },
    });
    const keys = {
      '.rope.scaling.type': textKey('linear'),
      '.rope.scaling.factor': f32Key(8),
      '.rope.freq_base_swa': f32Key(20_000),
      '.final_logit_softcapping': f32Key(30),
    };
    expect(await configOf('gemma3', keys)).toMatchObject({
      ...{
        rope_scaling: { rope_type: 'linear', factor: 8 },
        rope_local_base_freq: 20_000,
        final_logit_softcapping: 30,
      },
    });
    await expectRefusal(
      'gemma3',
      { keys: { ...keys, '.rope.scaling.type': textKey('yarn') } },
      /is "yarn"; supported are none and linear/,
    );
  });

  it('scales the attention of the 27B by its hidden size', async () => {
    const keys = { '.attention.key_length': u32Key(4), '.embedding_length': u32Key(24) };
    expect((await configOf('gemma3', keys, { numLayers: 62 })).query_pre_attn_scalar).toBe(12);
  });

  it('reads which layers have a window, as a period or layer by layer', async () => {
    const pattern = (value: KeyChanges[string]) => ({ '.attention.sliding_window_pattern': value });
    const flags = (...isSliding: number[]) => ['array', array('bool', isSliding.map(u8))] as const;
    expect((await configOf('gemma3', pattern(u32Key(4)))).sliding_window_pattern).toBe(4);
    const ofLayers = async (...isSliding: number[]) => {
      return (await configOf('gemma3', pattern(flags(...isSliding)), { numLayers: isSliding.length }))
        .sliding_window_pattern;
    };
    expect(await ofLayers(1, 1, 0, 1, 1, 0, 1)).toBe(3);
    expect(await ofLayers(1, 1)).toBe(3);
    expect(await ofLayers(0, 0)).toBe(1);
    const odd = { keys: pattern(flags(1, 0, 0)), numLayers: 3 };
    await expectRefusal('gemma3', odd, /sliding_window_pattern" is not every so many/);
    for (const other of [flags(), flags(1, 1)]) {
      await expectRefusal('gemma3', { keys: pattern(other), numLayers: 3 }, /but there are 3/, InvalidModelError);
    }
    await expectRefusal('gemma3', { keys: pattern(u32Key(0)) }, /sliding_window_pattern" must be/, InvalidModelError);
  });

  it('is refused without a window or a rotary base', async () => {
    await expectRefusal(
      'gemma3',
      { keys: { '.attention.sliding_window': undefined } },
      /sliding_window" is missing/,
      InvalidModelError,
    );
    await expectRefusal(
      'gemma3',
      { keys: { '.rope.freq_base': undefined } },
      /rope\.freq_base" is missing/,
      InvalidModelError,
    );
  });
});
