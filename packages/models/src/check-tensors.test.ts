import { HearthError, InvalidModelError } from '@hearth/core';
import { beforeAll, describe, expect, it } from 'vitest';
import { buildModel, type Model } from './build-model.ts';
import { checkTensors, type TensorShape } from './check-tensors.ts';

const config = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 32,
  intermediate_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  vocab_size: 288,
};

let untied: Model;
let tied: Model;

beforeAll(async () => {
  untied = await buildModel({ ...config, tie_word_embeddings: false });
  tied = await buildModel({ ...config, tie_word_embeddings: true });
});

function tensorsOf(model: Model): TensorShape[] {
  return model.weights.map(({ name, shape }) => ({ name, shape }));
}

describe('checkTensors', () => {
  it('accepts exactly the weights of the model', () => {
    expect(() => checkTensors(untied, tensorsOf(untied))).not.toThrow();
    expect(() => checkTensors(tied, tensorsOf(tied))).not.toThrow();
  });

  it('names a missing tensor with the shape that was expected', () => {
    const tensors = tensorsOf(untied).filter(({ name }) => name !== 'lm_head.weight');
    expect(() => checkTensors(untied, tensors)).toThrow(InvalidModelError);
    expect(() => checkTensors(untied, tensors)).toThrow('1 missing (lm_head.weight [288,32])');
  });

  it('names a tensor of another shape with both shapes', async () => {
    // The weights have heads of 16, the config leaves head_dim out, which means 32 / 4.
    const wide = await buildModel({ ...config, head_dim: 16, tie_word_embeddings: false });
    expect(() => checkTensors(untied, tensorsOf(wide))).toThrow(
      /8 of another shape \(model\.layers\.0\.self_attn\.q_proj\.weight is \[64,32\], the config asks for \[32,32\]/,
    );
  });

  it('expects a transposed matrix as [columns, rows]', () => {
    const weights = [{ name: 'c_attn.weight', role: 'matrix' as const, shape: [6, 2], transposed: true }];
    const model = { weights, ignoredTensors: [] };
    expect(() => checkTensors(model, [{ name: 'c_attn.weight', shape: [2, 6] }])).not.toThrow();
    expect(() => checkTensors(model, [{ name: 'c_attn.weight', shape: [6, 2] }])).toThrow(
      'c_attn.weight is [6,2], the config asks for [2,6]',
    );
    expect(() => checkTensors(model, [])).toThrow('1 missing (c_attn.weight [2,6])');
  });

  it('lists tensors that nothing reads', () => {
    const tensors = [...tensorsOf(untied), { name: 'model.layers.2.input_layernorm.weight', shape: [32] }];
    expect(() => checkTensors(untied, tensors)).toThrow('1 left over (model.layers.2.input_layernorm.weight)');
  });

  it('lets rotary frequencies of old exports be, and the head of a tied model', () => {
    const buffers = [
      { name: 'model.rotary_emb.inv_freq', shape: [4] },
      { name: 'model.layers.0.self_attn.rotary_emb.inv_freq', shape: [4] },
    ];
    expect(() => checkTensors(untied, [...tensorsOf(untied), ...buffers])).not.toThrow();
    expect(() => checkTensors(tied, [...tensorsOf(tied), { name: 'lm_head.weight', shape: [288, 32] }])).not.toThrow();
  });

  it('gives all names in details and cuts the message short', () => {
    try {
      checkTensors(untied, [{ name: 'other', shape: [1] }]);
      expect.unreachable();
    } catch (error) {
      if (!HearthError.isInstance(error)) throw error;
      expect(error.details.missing).toEqual(untied.weights.map(({ name }) => name));
      expect(error.details.leftOver).toEqual(['other']);
      expect(error.message).toContain(`and ${untied.weights.length - 8} more`);
    }
  });
});
