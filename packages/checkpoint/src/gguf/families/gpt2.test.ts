import { describe, expect, it } from 'vitest';
import { counting } from '../../__fixtures__/gguf-bytes.ts';
import { expectRefusal, open, u32Key } from '../../__fixtures__/open-family.ts';
import { readTensor } from '../../tensor/read-tensor.ts';

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
