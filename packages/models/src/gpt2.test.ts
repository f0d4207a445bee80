import { InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { changed, layerBoundaries, savedModel, wantedTensors } from './__fixtures__/saved-models.ts';
import { buildModel } from './build-model.ts';
import { checkTensors } from './check-tensors.ts';
import { parseGpt2Config } from './gpt2.ts';

const { config, tensors } = savedModel('gpt2');
const parse = (change: Record<string, unknown>) => parseGpt2Config(changed(config, change));

describe('parseGpt2Config', () => {
  it('takes the defaults of Transformers for absent keys', () => {
    expect(parseGpt2Config({ vocab_size: 10, n_embd: 8, n_layer: 1, n_head: 2 })).toEqual({
      vocabSize: 10,
      nEmbd: 8,
      nInner: 32,
      nLayer: 1,
      nHead: 2,
      nPositions: 1024,
      layerNormEpsilon: 1e-5,
      tieWordEmbeddings: undefined,
      bosTokenId: null,
      eosTokenIds: [],
    });
  });

  it.each<[string, unknown]>([
    ['activation_function', 'gelu'],
    ['activation_function', 'relu'],
    ['scale_attn_weights', false],
    ['scale_attn_by_inverse_layer_idx', true],
    ['add_cross_attention', true],
    ['is_encoder_decoder', true],
    ['sliding_window', 16],
    ['quantization_config', { quant_method: 'gptq' }],
  ])('refuses %s = %j by name', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(UnsupportedError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it.each<[string, unknown]>([
    ['n_embd', undefined],
    ['n_head', 5],
    ['n_inner', 0],
    ['n_layer', 0],
    ['n_positions', 2 ** 21],
    ['layer_norm_epsilon', -1],
    ['scale_attn_weights', null],
    ['hidden_size', 25],
    ['num_attention_heads', 3],
    ['num_hidden_layers', 'two'],
    ['max_position_embeddings', 0],
  ])('refuses %s = %j and names the key', (key, value) => {
    expect(() => parse({ [key]: value })).toThrow(InvalidModelError);
    expect(() => parse({ [key]: value })).toThrow(key);
  });

  it('takes the names that other families have for its sizes', () => {
    const { n_embd, n_head, n_layer, n_positions, ...others } = config;
    const renamed = { hidden_size: n_embd, num_attention_heads: n_head, num_hidden_layers: n_layer };
    const expected = parseGpt2Config(config);
    expect(parseGpt2Config({ ...others, ...renamed, max_position_embeddings: n_positions })).toEqual(expected);
    expect(parseGpt2Config({ ...config, ...renamed })).toEqual(expected);
  });

  it('lets be what changes nothing in float32', () => {
    expect(parse({ reorder_and_upcast_attn: true })).toEqual(parse({}));
    expect(parse({ activation_function: 'gelu_pytorch_tanh' })).toEqual(parse({}));
  });
});

describe('the GPT-2 graph', () => {
  it('asks for the tensors of the checkpoint, projections as [in, out]', async () => {
    expect(await wantedTensors(config)).toEqual(tensors);
    expect(tensors['transformer.h.0.mlp.c_fc.weight']).toEqual([24, 96]);
  });

  it('has a head of its own when the config says so', async () => {
    const untied = await wantedTensors({ ...config, tie_word_embeddings: false });
    expect(untied).toEqual({ ...tensors, 'lm_head.weight': [40, 24] });
  });

  it('has the boundaries of the checkpoint', async () => {
    const { graph } = await buildModel(config);
    expect(graph.values.slice(0, 3).map(({ name }) => name)).toEqual([
      'transformer.wte',
      'transformer.wpe',
      'transformer.embed',
    ]);
    expect(await layerBoundaries(config, 'transformer.h.0')).toEqual([
      'ln_1',
      'attn.c_attn',
      'attn.q',
      'attn.k',
      'attn.v',
      'attn.attention',
      'attn.c_proj',
      'attn_residual',
      'ln_2',
      'mlp.c_fc',
      'mlp.act',
      'mlp.c_proj',
      '',
    ]);
    expect(graph.values.slice(-3).map(({ name }) => name)).toEqual([
      'transformer.output_rows',
      'transformer.ln_f',
      'lm_head',
    ]);
  });

  it('addresses as many positions as there are embeddings', async () => {
    expect((await buildModel(config)).contextLength).toBe(64);
  });

  it('takes names without the prefix, and the buffers of old exports', async () => {
    const masks = ['attn.bias', 'attn.masked_bias'].flatMap((name) => [
      `transformer.h.0.${name}`,
      `transformer.h.1.${name}`,
    ]);
    const old = [...Object.entries(tensors), ...masks.map((name) => [name, [1, 1, 64, 64]] as const)];
    for (const cut of [0, 'transformer.'.length]) {
      const stored = old.map(([name, shape]) => ({ name: name.slice(cut), shape }));
      const model = await buildModel(config, { tensorNames: stored.map(({ name }) => name) });
      expect(() => checkTensors(model, stored)).not.toThrow();
      const other = [...stored, { name: 'h.0.attn.other_bias', shape: [1] }];
      expect(() => checkTensors(model, other)).toThrow('1 left over (h.0.attn.other_bias)');
    }
  });
});
