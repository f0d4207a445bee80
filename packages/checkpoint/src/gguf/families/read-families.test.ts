import { type HearthError, InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import {
  architectureNames,
  type FamilyChanges,
  familyBytes,
  type KeyChanges,
} from '../../__fixtures__/family-bytes.ts';
import { array, concat, counting, f32, ggufBytes, text, u8, u32 } from '../../__fixtures__/gguf-bytes.ts';
import { putFile, temporaryDirectory } from '../../__fixtures__/temporary-directory.ts';
import type { Checkpoint } from '../../checkpoint.ts';
import { openCheckpoint } from '../../open-checkpoint.ts';
import { readTensor } from '../../tensor/read-tensor.ts';

const directory = await temporaryDirectory();
let count = 0;

async function open(architecture: string, changes: FamilyChanges = {}): Promise<Checkpoint> {
  return openCheckpoint(await putFile(directory, `${count++}.gguf`, ggufBytes(familyBytes(architecture, changes))));
}

async function configOf(architecture: string, keys: KeyChanges = {}, more: FamilyChanges = {}) {
  const checkpoint = await open(architecture, { keys, ...more });
  await checkpoint.close();
  expect(checkpoint.warnings).toEqual([]);
  return checkpoint.config;
}

async function expectRefusal(
  architecture: string,
  changes: FamilyChanges,
  message: RegExp,
  type: typeof InvalidModelError | typeof UnsupportedError = UnsupportedError,
): Promise<void> {
  const error = await open(architecture, changes).then(
    () => expect.fail(`the file was opened, expected ${message}`),
    (reason: unknown) => reason as HearthError,
  );
  expect(error.message).toMatch(message);
  expect(error).toBeInstanceOf(type);
}

const u32Key = (value: number) => ['u32', u32(value)] as const;
const f32Key = (value: number) => ['f32', f32(value)] as const;
const textKey = (value: string) => ['string', text(value)] as const;
const floats = (...values: number[]) => concat(...values.map(f32));

describe('every family', () => {
  it.each(architectureNames)('%s: opens with the keys that its first converters wrote', async (architecture) => {
    const config = await configOf(architecture);
    expect(config.vocab_size).toBe(16);
    expect(config.tie_word_embeddings).toBe(true);
    expect(config.num_hidden_layers ?? config.n_layer).toBe(1);
  });

  it.each(architectureNames)('%s: opens as GGUF version 2, without "tokenizer.ggml.pre"', async (architecture) => {
    const file = ggufBytes({ ...familyBytes(architecture), version: 2 });
    const checkpoint = await openCheckpoint(await putFile(directory, `${count++}.gguf`, file));
    expect(checkpoint.tokenizer).toMatchObject({ kind: 'gguf' });
    await checkpoint.close();
  });

  it.each(architectureNames)(
    '%s: refuses keys that change what is computed, and warns of unknown ones',
    async (name) => {
      await expectRefusal(name, { keys: { '.logit_scale': f32Key(2) } }, new RegExp(`"${name}\\.logit_scale" is 2`));
      await expectRefusal(name, { keys: { '.attention.causal': ['bool', u8(0)] } }, /attention\.causal" is false/);
      const checkpoint = await open(name, { keys: { '.attention.new_idea': u32Key(1) } });
      expect(checkpoint.warnings).toEqual([
        `Metadata keys that are not known were not used: ${name}.attention.new_idea.`,
      ]);
      await checkpoint.close();
      const alien = { moreTensors: [{ name: 'blk.0.ssm_a.weight', dims: [8] }] };
      await expectRefusal(name, alien, new RegExp(`"blk\\.0\\.ssm_a\\.weight" is not one that a ${name} model`));
    },
  );
});

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

  it('refuse a window that is shorter than the context', async () => {
    const window = (value: number) => ({ keys: { '.attention.sliding_window': u32Key(value) } });
    await expectRefusal('qwen2', window(63), /"qwen2\.attention\.sliding_window" is 63; which layers/);
    expect((await configOf('qwen3', window(64).keys)).use_sliding_window).toBe(false);
  });
});

describe('qwen3moe', () => {
  it('shows the stacked experts one by one, by their places in the file', async () => {
    const checkpoint = await open('qwen3moe');
    expect(checkpoint.config).toMatchObject({
      ...{ num_experts: 3, num_experts_per_tok: 2, moe_intermediate_size: 6, norm_topk_prob: true },
    });
    const down = (expert: number) => checkpoint.tensors.get(`model.layers.0.mlp.experts.${expert}.down_proj.weight`)!;
    for (const expert of [0, 1, 2]) {
      expect(down(expert)).toMatchObject({ storedName: 'blk.0.ffn_down_exps.weight', shape: [8, 6], byteLength: 192 });
      expect(down(expert).offset).toBe(down(0).offset + 192 * expert);
      expect((await readTensor(down(expert)))[0]).toBe(48 * expert);
    }
    expect([...checkpoint.tensors.keys()].filter((name) => name.includes('experts'))).toHaveLength(9);
    expect(checkpoint.tensors.get('model.layers.0.mlp.gate.weight')!.shape).toEqual([3, 8]);
    await checkpoint.close();
  });

  it('opens with 128 experts in 94 layers', async () => {
    // No data is read, so each expert may be a single element.
    const dims = [1, 1, 128];
    const moreTensors = Array.from({ length: 93 }, (_, i) =>
      ['gate', 'up', 'down'].map((kind) => ({
        name: `blk.${i + 1}.ffn_${kind}_exps.weight`,
        dims,
        data: counting(128),
      })),
    ).flat();
    const file = familyBytes('qwen3moe', {
      keys: { '.expert_count': u32Key(128), '.block_count': u32Key(94) },
      moreTensors,
    });
    const tensors = file.tensors.filter(({ name }) => !/^blk\.0\.ffn_\w+_exps/.test(name as string));
    const checkpoint = await openCheckpoint(await putFile(directory, 'many.gguf', ggufBytes({ ...file, tensors })));
    expect(checkpoint.tensors.get('model.layers.93.mlp.experts.127.up_proj.weight')).toMatchObject({ shape: [1, 1] });
    expect([...checkpoint.tensors.keys()].filter((name) => name.includes('experts'))).toHaveLength(93 * 3 * 128);
    await checkpoint.close();
  });

  it('refuses stacks of other sizes, and more experts than memory should be spent on', async () => {
    const experts = (value: number) => ({ '.expert_count': u32Key(value) });
    await expectRefusal(
      'qwen3moe',
      { keys: experts(4) },
      /ffn_gate_exps\.weight" has the shape \[3, 6, 8\], expected \[4/,
      InvalidModelError,
    );
    for (const value of [0, 4097, 2 ** 32 - 1]) {
      await expectRefusal('qwen3moe', { keys: experts(value) }, /"qwen3moe\.expert_count" must be/, InvalidModelError);
    }
    await expectRefusal(
      'qwen3moe',
      { keys: { '.expert_used_count': u32Key(4) } },
      /expert_used_count" must be a whole number from 1 to 3/,
      InvalidModelError,
    );
    const flat = { moreTensors: [{ name: 'blk.0.ffn_up_exps.bias', dims: [8, 3] }] };
    await expectRefusal('qwen3moe', flat, /"blk\.0\.ffn_up_exps\.bias" has the shape \[3, 8\]/, InvalidModelError);
    // 66 stacks of 4096 are more tensors than any model has.
    const moreTensors = Array.from({ length: 66 }, (_, i) => ({
      name: `blk.${i + 1}.ffn_up_exps.weight`,
      dims: [1, 1, 4096],
    }));
    const file = familyBytes('qwen3moe', { keys: { ...experts(4096), '.block_count': u32Key(70) }, moreTensors });
    const tensors = file.tensors.filter(({ name }) => !/^blk\.0\.ffn_\w+_exps/.test(name as string));
    const path = await putFile(directory, 'too many.gguf', ggufBytes({ ...file, tensors }));
    await expect(openCheckpoint(path)).rejects.toThrow(
      /has 4096 experts; with them the model has more than 262144 tensors/,
    );
  });

  it('refuses other ways of choosing experts', async () => {
    const refuse = (keys: KeyChanges, message: RegExp) => expectRefusal('qwen3moe', { keys }, message);
    await refuse({ '.expert_gating_func': u32Key(2) }, /expert_gating_func" is 2; it must be 1/);
    await refuse({ '.expert_weights_norm': ['bool', u8(0)] }, /expert_weights_norm" is false/);
    await refuse({ '.expert_weights_scale': f32Key(2.5) }, /expert_weights_scale" is 2.5/);
    await refuse({ '.expert_shared_count': u32Key(1) }, /expert_shared_count" is 1/);
  });
});

describe('gpt2', () => {
  it('has the config and the matrices of Hugging Face, which keeps them the other way round', async () => {
    const checkpoint = await open('gpt2', {
      moreTensors: [{ name: 'blk.0.attn_qkv.bias', dims: [24], data: counting(24) }],
    });
    expect(checkpoint.config).toEqual({
      ...{ architectures: ['GPT2LMHeadModel'], model_type: 'gpt2', n_embd: 8, n_inner: 12, n_layer: 1, n_head: 2 },
      ...{ n_positions: 64, layer_norm_epsilon: 1e-6, activation_function: 'gelu_new', vocab_size: 16 },
      tie_word_embeddings: true,
    });
    const qkv = checkpoint.tensors.get('transformer.h.0.attn.c_attn.weight')!;
    expect(qkv).toMatchObject({ shape: [8, 24], transposed: true });
    expect([...(await readTensor(qkv))]).toEqual(
      Array.from({ length: 192 }, (_, i) => (i % 24) * 8 + Math.floor(i / 24)),
    );
    expect(checkpoint.tensors.get('transformer.h.0.attn.c_attn.bias')).not.toHaveProperty('transposed');
    expect(checkpoint.tensors.get('transformer.wpe.weight')).toMatchObject({ shape: [64, 8] });
    expect(checkpoint.tensors.get('transformer.wpe.weight')).not.toHaveProperty('transposed');
    await checkpoint.close();
  });

  it('refuses fewer heads for keys and values', async () => {
    await expectRefusal('gpt2', { keys: { '.attention.head_count_kv': u32Key(1) } }, /head_count_kv" is 1/);
  });
});

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
    expect((await configOf('gemma3', pattern(flags(1, 1, 0, 1, 1, 0, 1)))).sliding_window_pattern).toBe(3);
    expect((await configOf('gemma3', pattern(flags(1, 1)))).sliding_window_pattern).toBe(3);
    await expectRefusal('gemma3', { keys: pattern(flags(1, 0, 0)) }, /sliding_window_pattern" is not every so many/);
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

describe('phi3', () => {
  const factors = (...values: number[]) => ({ dims: [values.length], data: floats(...values) });
  const longrope = [
    { name: 'rope_factors_long.weight', ...factors(1.5, 40.1) },
    { name: 'rope_factors_short.weight', ...factors(1, 1.1) },
  ];
  const original = { '.rope.scaling.original_context_length': u32Key(16) };
  // sqrt(1 + ln(64 / 16) / ln(16))
  const attnFactor = Math.sqrt(1.5);

  it('reads longrope from its tensors, as shortest decimals', async () => {
    const keys = { ...original, '.rope.scaling.attn_factor': f32Key(attnFactor) };
    expect(await configOf('phi3', keys, { moreTensors: longrope })).toMatchObject({
      rope_scaling: { type: 'longrope', short_factor: [1, 1.1], long_factor: [1.5, 40.1] },
      original_max_position_embeddings: 16,
    });
    const other = await configOf(
      'phi3',
      { ...original, '.rope.scaling.attn_factor': f32Key(1.25) },
      { moreTensors: longrope },
    );
    expect(other.rope_scaling).toMatchObject({ attention_factor: 1.25 });
  });

  it('rotates a part of each head', async () => {
    expect((await configOf('phi3', { '.rope.dimension_count': u32Key(2) })).partial_rotary_factor).toBe(0.5);
    expect(await configOf('phi3', { '.rope.dimension_count': u32Key(4) })).not.toHaveProperty('partial_rotary_factor');
    for (const value of [0, 3, 6]) {
      await expectRefusal(
        'phi3',
        { keys: { '.rope.dimension_count': u32Key(value) } },
        /rope\.dimension_count" (is 3|must be)/,
        InvalidModelError,
      );
    }
  });

  it('knows the window of the models with 4096 positions, whose first files do not say it', async () => {
    const context = { '.context_length': u32Key(4096) };
    expect((await configOf('phi3')).sliding_window).toBeNull();
    expect((await configOf('phi3', context)).sliding_window).toBe(2047);
    expect((await configOf('phi3', { ...context, '.attention.sliding_window': u32Key(0) })).sliding_window).toBeNull();
    expect((await configOf('phi3', { '.attention.sliding_window': u32Key(32) })).sliding_window).toBe(32);
  });

  it('is refused for halves of longrope, and for other scaling', async () => {
    const refuse = (
      changes: FamilyChanges,
      message: RegExp,
      type: typeof InvalidModelError | typeof UnsupportedError = InvalidModelError,
    ) => expectRefusal('phi3', changes, message, type);
    await refuse({ keys: original, moreTensors: longrope.slice(1) }, /"rope_factors_long\.weight" is missing/);
    await refuse({ keys: original, moreTensors: longrope.slice(0, 1) }, /"rope_factors_short\.weight" is missing/);
    await refuse({ moreTensors: longrope }, /original_context_length" is missing/);
    await refuse({ keys: { '.rope.scaling.type': textKey('longrope') } }, /are missing/);
    await refuse({ keys: { '.rope.scaling.type': textKey('yarn') } }, /is "yarn"/, UnsupportedError);
    await refuse({ keys: { '.rope.scaling.attn_factor': f32Key(2) } }, /is 2 without longrope/, UnsupportedError);
    await refuse(
      { keys: { ...original, '.rope.scaling.type': textKey('none') }, moreTensors: longrope },
      /is none, but/,
      UnsupportedError,
    );
    for (const values of [
      [0, 1],
      [Number.NaN, 1],
      [-1, 1],
      [Number.POSITIVE_INFINITY, 1],
    ]) {
      const bad = { name: 'rope_factors_long.weight', ...factors(...values) };
      await refuse({ keys: original, moreTensors: [longrope[1]!, bad] }, /"rope_factors_long\.weight" holds/);
    }
    const long = { name: 'rope_factors_long.weight', ...factors(1, 1, 1) };
    await refuse(
      { keys: original, moreTensors: [longrope[1]!, long] },
      /shape \[3\], expected f32 \[2\]/,
      UnsupportedError,
    );
  });
});
