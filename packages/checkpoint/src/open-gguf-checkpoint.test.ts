import { type HearthError, InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import {
  array,
  concat,
  counting,
  f32,
  type GgufBytes,
  ggufBytes,
  llamaEntries,
  llamaTensors,
  text,
  u8,
  u32,
} from './__fixtures__/gguf-bytes.ts';
import { putFile, temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import type { Checkpoint } from './checkpoint.ts';
import { llama3FrequencyFactors } from './gguf/rope-frequencies.ts';
import { openCheckpoint } from './open-checkpoint.ts';
import { readTensor } from './tensor/read-tensor.ts';
import { weightSource } from './tensor/weight-source.ts';

const directory = await temporaryDirectory();
let count = 0;

async function open(file: GgufBytes): Promise<Checkpoint> {
  return openCheckpoint(await putFile(directory, `mödel ${count++} 😀.gguf`, ggufBytes(file)));
}

type Changes = Parameters<typeof llamaEntries>[0];
const openWith = (changes: Changes) => open({ entries: llamaEntries(changes) });

async function configWith(changes: Changes): Promise<Checkpoint['config']> {
  const checkpoint = await openWith(changes);
  await checkpoint.close();
  return checkpoint.config;
}

async function expectRefusal(
  file: GgufBytes,
  message: RegExp,
  type: typeof InvalidModelError | typeof UnsupportedError = InvalidModelError,
): Promise<void> {
  const error = await open(file).then(
    () => expect.fail('the file was opened'),
    (reason: unknown) => reason as HearthError,
  );
  expect(error).toBeInstanceOf(type);
  expect(error.message).toMatch(message);
}

describe('a GGUF file of a Llama', () => {
  it('has the config of its Hugging Face twin', async () => {
    const checkpoint = await open({});
    expect(checkpoint.format).toBe('gguf');
    expect(checkpoint.name).toBe('byte-built');
    expect(checkpoint.config).toEqual({
      architectures: ['LlamaForCausalLM'],
      model_type: 'llama',
      hidden_size: 8,
      intermediate_size: 12,
      num_hidden_layers: 1,
      num_attention_heads: 2,
      num_key_value_heads: 1,
      head_dim: 4,
      hidden_act: 'silu',
      // The file holds the f32 9.999999747378752e-6.
      rms_norm_eps: 1e-5,
      rope_theta: 10000,
      rope_scaling: null,
      max_position_embeddings: 64,
      vocab_size: 16,
      tie_word_embeddings: false,
      attention_bias: false,
      mlp_bias: false,
      bos_token_id: 1,
      eos_token_id: 2,
    });
    expect(checkpoint.tokenizer).toMatchObject({ kind: 'gguf' });
    expect(checkpoint.warnings).toEqual([]);
    await checkpoint.close();
    await checkpoint.close();
  });

  it('has its tensors under Hugging Face names', async () => {
    const checkpoint = await open({});
    expect([...checkpoint.tensors.keys()].sort()).toEqual(
      [
        'lm_head.weight',
        'model.embed_tokens.weight',
        'model.norm.weight',
        ...[
          'input_layernorm',
          'post_attention_layernorm',
          'self_attn.q_proj',
          'self_attn.k_proj',
          'self_attn.v_proj',
          'self_attn.o_proj',
          'mlp.gate_proj',
          'mlp.up_proj',
          'mlp.down_proj',
        ].map((module) => `model.layers.0.${module}.weight`),
      ].sort(),
    );
    expect(checkpoint.tensors.get('lm_head.weight')).toMatchObject({ storedName: 'output.weight', shape: [16, 8] });
    await checkpoint.close();
  });

  it('undoes the order of query and key rows, also of their biases, and leaves values alone', async () => {
    const biases = [
      { name: 'blk.0.attn_q.bias', dims: [8], data: counting(8) },
      { name: 'blk.0.attn_k.bias', dims: [4], data: counting(4) },
    ];
    const checkpoint = await open({ tensors: [...llamaTensors(), ...biases] });
    const prefix = 'model.layers.0.self_attn';
    // Two heads of four rows: Hugging Face rows 0, 1 | 2, 3 lie at rows 0, 2 | 1, 3 of the head.
    const order = [0, 2, 1, 3, 4, 6, 5, 7];
    const query = checkpoint.tensors.get(`${prefix}.q_proj.weight`)!;
    expect([...query.rowOrder!]).toEqual(order);
    expect([...weightSource(query, {}).rowOrder!]).toEqual(order);
    const rows = await readTensor(query);
    expect(order.map((_, i) => rows[i * 8])).toEqual(order.map((row) => row * 8));
    expect([...(await readTensor(checkpoint.tensors.get(`${prefix}.q_proj.bias`)!))]).toEqual(order);
    expect([...(await readTensor(checkpoint.tensors.get(`${prefix}.k_proj.bias`)!))]).toEqual([0, 2, 1, 3]);
    expect(checkpoint.tensors.get(`${prefix}.v_proj.weight`)!.rowOrder).toBeUndefined();
    expect(checkpoint.config.attention_bias).toBe(true);
    await checkpoint.close();
  });

  it('is tied when there is no output.weight', async () => {
    const checkpoint = await open({ tensors: llamaTensors().filter(({ name }) => name !== 'output.weight') });
    expect(checkpoint.config.tie_word_embeddings).toBe(true);
    expect(checkpoint.tensors.has('lm_head.weight')).toBe(false);
    await checkpoint.close();
  });

  it('opens with an alignment of 64', async () => {
    const checkpoint = await open({ entries: llamaEntries({ 'general.alignment': ['u32', u32(64)] }), alignment: 64 });
    expect([...(await readTensor(checkpoint.tensors.get('model.norm.weight')!))]).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    await checkpoint.close();
  });

  it('takes the rows of the embedding table for vocab_size, also when it is padded past the tokenizer', async () => {
    const padded = await openWith({ 'tokenizer.ggml.tokens': ['array', array('string', [text('a'), text('b')])] });
    expect(padded.config.vocab_size).toBe(16);
    expect(padded.warnings).toEqual([]);
    await padded.close();
    const disagreeing = await openWith({ 'llama.vocab_size': ['u32', u32(15)] });
    expect(disagreeing.config.vocab_size).toBe(16);
    expect(disagreeing.warnings[0]).toMatch(/"llama\.vocab_size" says 15.*16 rows/);
    await disagreeing.close();
  });

  it('warns of keys that it does not know, and only of those', async () => {
    const checkpoint = await openWith({
      'llama.attention.new_idea': ['u32', u32(1)],
      'llama.rope.scaling.finetuned': ['bool', u8(1)],
      'general.anything': ['u32', u32(1)],
    });
    expect(checkpoint.warnings).toEqual(['Metadata keys that are not known were not used: llama.attention.new_idea.']);
    await checkpoint.close();
  });

  it('keeps token ids, also when several end a completion', async () => {
    expect(await configWith({ 'tokenizer.ggml.eos_token_id': ['u32', u32(9)] })).toMatchObject({ eos_token_id: 9 });
    const config = await configWith({
      'tokenizer.ggml.eot_token_id': ['u32', u32(5)],
      'tokenizer.ggml.eom_token_id': ['u32', u32(2)],
      'tokenizer.ggml.padding_token_id': ['u32', u32(3)],
    });
    expect(config).toMatchObject({ eos_token_id: [2, 5], pad_token_id: 3 });
  });

  it('gives out every chat template as it is', async () => {
    const checkpoint = await openWith({
      'tokenizer.chat_template': ['string', text('{{ bos_token }}A')],
      'tokenizer.chat_template.tool_use': ['string', text('B')],
      'tokenizer.ggml.add_bos_token': ['bool', u8(1)],
    });
    expect(checkpoint.chatTemplate).toEqual({
      ggufTemplate: '{{ bos_token }}A',
      ggufNamedTemplates: { tool_use: 'B' },
    });
    expect(
      checkpoint.tokenizer?.kind === 'gguf' && checkpoint.tokenizer.metadata.get('tokenizer.ggml.add_bos_token'),
    ).toBe(true);
    await checkpoint.close();
  });
});

describe('heads', () => {
  it('reads head_dim from attention.key_length, whatever hidden size and heads say', async () => {
    const tensors = llamaTensors().map((tensor) => {
      if (tensor.name === 'blk.0.attn_q.weight') return { name: tensor.name, dims: [8, 12] };
      if (tensor.name === 'blk.0.attn_k.weight') return { name: tensor.name, dims: [8, 6] };
      return tensor;
    });
    const entries = llamaEntries({
      'llama.attention.key_length': ['u32', u32(6)],
      'llama.rope.dimension_count': ['u32', u32(6)],
    });
    const checkpoint = await open({ entries, tensors });
    expect(checkpoint.config.head_dim).toBe(6);
    await checkpoint.close();
    await expectRefusal({ tensors }, /"blk\.0\.attn_q\.weight" has 12 rows, expected 2 heads of 4/);
  });

  it('takes as many KV heads as heads when they are not given', async () => {
    const tensors = llamaTensors().map((tensor) =>
      tensor.name === 'blk.0.attn_k.weight' ? { name: tensor.name, dims: [8, 8] } : tensor,
    );
    const checkpoint = await open({ entries: llamaEntries({ 'llama.attention.head_count_kv': undefined }), tensors });
    expect(checkpoint.config.num_key_value_heads).toBe(2);
    await checkpoint.close();
  });

  it('takes one value for all layers, and refuses different ones', async () => {
    const same = array('u32', [u32(2), u32(2)]);
    expect((await configWith({ 'llama.attention.head_count': ['array', same] })).num_attention_heads).toBe(2);
    const entries = llamaEntries({ 'llama.attention.head_count': ['array', array('u32', [u32(2), u32(4)])] });
    await expectRefusal({ entries }, /"llama\.attention\.head_count" differs from layer to layer/, UnsupportedError);
  });
});

describe('rope scaling', () => {
  const linear = { 'llama.rope.scaling.type': ['string', text('linear')] as const };
  const factor = { 'llama.rope.scaling.factor': ['f32', f32(2)] as const };

  it('reads none, linear and yarn', async () => {
    expect((await configWith({ 'llama.rope.scaling.type': ['string', text('none')] })).rope_scaling).toBeNull();
    expect((await configWith({ ...linear, ...factor })).rope_scaling).toEqual({ rope_type: 'linear', factor: 2 });
    expect((await configWith(factor)).rope_scaling).toEqual({ rope_type: 'linear', factor: 2 });
    const yarn = await configWith({
      ...factor,
      'llama.rope.scaling.type': ['string', text('yarn')],
      'llama.rope.scaling.original_context_length': ['u32', u32(32)],
    });
    expect(yarn.rope_scaling).toEqual({ rope_type: 'yarn', factor: 2, original_max_position_embeddings: 32 });
  });

  it('refuses a type without its factor, and unknown types by name', async () => {
    await expectRefusal({ entries: llamaEntries(linear) }, /"llama\.rope\.scaling\.factor" is missing/);
    const entries = llamaEntries({ ...factor, 'llama.rope.scaling.type': ['string', text('spiral')] });
    await expectRefusal({ entries }, /"llama\.rope\.scaling\.type" is "spiral"/, UnsupportedError);
  });

  it('turns frequency factors into the rope_scaling of Llama 3', async () => {
    const scaling = {
      rope_type: 'llama3',
      factor: 8,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    } as const;
    const factors = llama3FrequencyFactors(scaling, 10_000, 4);
    const frequencies = (values: Float32Array) => ({
      tensors: [
        ...llamaTensors(),
        { name: 'rope_freqs.weight', dims: [values.length], data: concat(...Array.from(values, f32)) },
      ],
    });
    const checkpoint = await open(frequencies(factors));
    // With two frequencies any original context that leaves both unscaled looks the same; none is scaled here.
    expect(checkpoint.config.rope_scaling).toBeNull();
    expect(checkpoint.tensors.size).toBe(12);
    await checkpoint.close();
    await expectRefusal(
      frequencies(Float32Array.of(1, 3, 1)),
      /"rope_freqs\.weight" has type f32 and shape \[3\]/,
      UnsupportedError,
    );
    await expectRefusal(frequencies(Float32Array.of(5, 1)), /"rope_freqs\.weight" does not hold/, UnsupportedError);
    await expectRefusal(
      { ...frequencies(factors), entries: llamaEntries(factor) },
      /beside rope scaling keys/,
      UnsupportedError,
    );
  });
});

describe('a GGUF file that is not a usable Llama', () => {
  it('is refused when it has no keys or no tensors', async () => {
    await expectRefusal({ entries: [] }, /"general\.architecture" is missing/);
    await expectRefusal({ tensors: [] }, /"token_embd\.weight" is missing; it has 0 tensors/);
  });

  it('is refused by the name of its architecture', async () => {
    await expectRefusal(
      { entries: llamaEntries({ 'general.architecture': ['string', text('qwen9')] }) },
      /"qwen9"/,
      UnsupportedError,
    );
    await expectRefusal(
      { entries: llamaEntries({ 'general.architecture': ['u32', u32(1)] }) },
      /"general\.architecture" is missing or not a string/,
    );
  });

  it('is refused for zero heads, 4 billion layers and missing numbers', async () => {
    const cases: [Changes, RegExp][] = [
      [
        { 'llama.attention.head_count': ['u32', u32(0)] },
        /"llama\.attention\.head_count" must be a whole number from 1 .* got "0"/,
      ],
      [
        { 'llama.attention.head_count': ['u32', u32(3)] },
        /"llama\.attention\.head_count" says 3 heads, which do not divide/,
      ],
      [{ 'llama.attention.head_count': ['string', text('2')] }, /got "2" \(string\)/],
      [{ 'llama.attention.head_count': ['array', array('u32', [])] }, /is an empty array/],
      [{ 'llama.attention.head_count_kv': ['u32', u32(0)] }, /"llama\.attention\.head_count_kv" must be/],
      [
        { 'llama.block_count': ['u32', u32(2 ** 32 - 1)] },
        /"llama\.block_count" says 4294967295 layers, but the file has only 12 tensors/,
      ],
      [{ 'llama.block_count': ['u32', u32(0)] }, /"llama\.block_count" must be/],
      [{ 'llama.embedding_length': undefined }, /"llama\.embedding_length" is missing/],
      [{ 'llama.context_length': undefined }, /"llama\.context_length" is missing/],
      [
        { 'llama.attention.layer_norm_rms_epsilon': ['f32', f32(Number.NaN)] },
        /epsilon" must be a number above 0, got "NaN"/,
      ],
      [{ 'llama.rope.freq_base': ['f32', f32(0)] }, /"llama\.rope\.freq_base" must be a number above 0/],
    ];
    for (const [changes, message] of cases) await expectRefusal({ entries: llamaEntries(changes) }, message);
  });

  it('is refused for what config.json of a Llama cannot say', async () => {
    const cases: [Changes, RegExp][] = [
      [{ 'llama.expert_count': ['u32', u32(8)] }, /"llama\.expert_count" is 8/],
      [{ 'llama.attention.causal': ['bool', u8(0)] }, /"llama\.attention\.causal" is false/],
      [{ 'llama.rope.dimension_count': ['u32', u32(2)] }, /"llama\.rope\.dimension_count" is 2 where heads have 4/],
    ];
    for (const [changes, message] of cases)
      await expectRefusal({ entries: llamaEntries(changes) }, message, UnsupportedError);
    const neutral = await configWith({
      'llama.expert_count': ['u32', u32(0)],
      'llama.attention.causal': ['bool', u8(1)],
    });
    expect(neutral.model_type).toBe('llama');
  });

  it('is refused for tensors of other models and of layers that it does not have', async () => {
    const withTensor = (name: string) => ({ tensors: [...llamaTensors(), { name, dims: [8] }] });
    await expectRefusal(withTensor('blk.0.ffn_gate_exps.weight'), /"blk\.0\.ffn_gate_exps\.weight"/, UnsupportedError);
    await expectRefusal(
      withTensor('blk.1.attn_norm.weight'),
      /"blk\.1\.attn_norm\.weight" belongs to layer 1, but there are 1/,
    );
  });

  it('opens with a type that Hearth does not compute with, and refuses only its use, by name', async () => {
    const tensors = llamaTensors().map((tensor) =>
      tensor.name === 'output.weight'
        ? { name: tensor.name, dims: [256, 2], type: 17, data: new Uint8Array(148) }
        : tensor,
    );
    const checkpoint = await open({ tensors });
    const head = checkpoint.tensors.get('lm_head.weight')!;
    expect(head).toMatchObject({ dtype: 'iq2_xs', shape: [2, 256], byteLength: 148 });
    expect(() => weightSource(head, {})).toThrow(UnsupportedError);
    expect(() => weightSource(head, {})).toThrow(/"lm_head\.weight" has the type iq2_xs/);
    await expect(readTensor(head)).rejects.toThrow(/"lm_head\.weight" has the type iq2_xs/);
    await checkpoint.close();
  });
});
