import { InvalidModelError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { configOf, expectRefusal, f32Key, open, textKey, u32Key } from '../../__fixtures__/open-family.ts';

describe('llama', () => {
  it('is a Mistral when its attention has a window', async () => {
    const config = await configOf('llama', { '.attention.sliding_window': u32Key(16) });
    expect(config).toMatchObject({ architectures: ['MistralForCausalLM'], model_type: 'mistral', sliding_window: 16 });
    expect((await configOf('llama', { '.attention.sliding_window': u32Key(0) })).model_type).toBe('llama');
    const pattern = { '.attention.sliding_window': u32Key(16), '.attention.sliding_window_pattern': u32Key(4) };
    await expectRefusal('llama', { keys: pattern }, /"llama\.attention\.sliding_window_pattern" is 4/);
  });
});

describe('qwen2 and qwen3', () => {
  it('have rows in the order of Hugging Face', async () => {
    for (const name of ['qwen2', 'qwen3']) {
      const checkpoint = await open(name);
      for (const tensor of checkpoint.tensors.values()) expect(tensor.rowOrder).toBeUndefined();
      await checkpoint.close();
    }
  });

  it('read the dimensions of a head, and scaling', async () => {
    const keys = {
      '.attention.key_length': u32Key(4),
      '.attention.value_length': u32Key(4),
      '.rope.scaling.type': textKey('yarn'),
      '.rope.scaling.factor': f32Key(4),
      '.rope.scaling.original_context_length': u32Key(16),
    };
    const rope_scaling = { rope_type: 'yarn', factor: 4, original_max_position_embeddings: 16 };
    for (const name of ['qwen2', 'qwen3'])
      expect(await configOf(name, keys)).toMatchObject({ head_dim: 4, rope_scaling });
    await expectRefusal('qwen3', { keys: { '.attention.value_length': u32Key(6) } }, /value_length" is 6/);
  });

  it.each(['llama', 'qwen2', 'qwen3', 'qwen3moe', 'gemma2', 'gemma3'])(
    '%s: refuses a factor of attention, whatever the type of scaling, and two factors that differ',
    async (name) => {
      for (const type of ['none', undefined]) {
        const keys = { '.rope.scaling.attn_factor': f32Key(2), ...(type && { '.rope.scaling.type': textKey(type) }) };
        await expectRefusal(name, { keys }, /attn_factor" is 2; only 1/);
      }
      const factors = { '.rope.scaling.factor': f32Key(2), '.rope.scale_linear': f32Key(4) };
      await expectRefusal(
        name,
        { keys: factors },
        /scale_linear" is 4, but .*scaling\.factor.* is 2/,
        InvalidModelError,
      );
    },
  );

  it('refuse a window that is shorter than the context', async () => {
    const window = (value: number) => ({ keys: { '.attention.sliding_window': u32Key(value) } });
    await expectRefusal('qwen2', window(63), /"qwen2\.attention\.sliding_window" is 63; which layers/);
    expect((await configOf('qwen3', window(64).keys)).use_sliding_window).toBe(false);
  });
});
