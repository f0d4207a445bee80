import { InvalidArgumentError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { counting } from '../__fixtures__/gguf-bytes.ts';
import { encodeElements } from '../tensor/encode.ts';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import { findArchitecture } from './architectures.ts';
import { storedTensors } from './stored-tensors.ts';

function tensor(name: string, shape: number[], start = 0): TensorToWrite {
  const length = shape.reduce((product, dim) => product * dim, 1);
  return { name, dtype: 'f32', shape, data: () => counting(length, start) };
}

const stored = (architecture: string, tensors: TensorToWrite[]) =>
  storedTensors(tensors, findArchitecture(architecture, 'x'), new Map());

async function floatsOf(tensor: TensorToWrite): Promise<number[]> {
  const data = tensor.data();
  const pieces: Uint8Array[] = [];
  if (Symbol.asyncIterator in data) for await (const piece of data) pieces.push(piece);
  else pieces.push(await data);
  return [...new Float32Array(Uint8Array.from(Buffer.concat(pieces)).buffer)];
}

const expert = (i: number, changes: Partial<TensorToWrite> = {}) => ({
  ...tensor(`model.layers.0.mlp.experts.${i}.up_proj.weight`, [2, 3], 10 * i),
  ...changes,
});

describe('storedTensors', () => {
  it('stacks experts in the order of their numbers, in the place of the first that came', async () => {
    const [before, stack, after, ...none] = stored('qwen3moe', [
      tensor('model.norm.weight', [2]),
      expert(1),
      tensor('lm_head.weight', [2, 2]),
      ...[0, 2].map((i) => expert(i)),
    ]);
    expect([before!.name, after!.name, none]).toEqual(['output_norm.weight', 'output.weight', []]);
    expect(stack).toMatchObject({ name: 'blk.0.ffn_up_exps.weight', shape: [3, 2, 3], dtype: 'f32' });
    expect(await floatsOf(stack!)).toEqual([0, 1, 2].flatMap((i) => [0, 1, 2, 3, 4, 5].map((value) => 10 * i + value)));
  });

  it('refuses experts that are missing, there twice, or unlike the others', () => {
    const cases: [TensorToWrite[], RegExp][] = [
      [[expert(0), expert(2)], /Expert 1 is missing among the 3 like "model\.layers\.0\.mlp\.experts\.0/],
      [[expert(1)], /Expert 0 is missing/],
      [[expert(0), expert(0)], /experts\.0\.up_proj\.weight" is there twice/],
      [
        [expert(0), expert(1, { dtype: 'f16' })],
        /experts\.1\.up_proj\.weight" \(f16, \[2, 3\]\) must be like the other/,
      ],
      [[expert(0), expert(1, { shape: [3, 2] })], /\(f32, \[3, 2\]\) must be like the other experts \(f32, \[2, 3\]\)/],
    ];
    for (const [tensors, message] of cases) {
      expect(() => stored('qwen3moe', tensors)).toThrow(InvalidArgumentError);
      expect(() => stored('qwen3moe', tensors)).toThrow(message);
    }
  });

  it('turns the matrices of GPT-2 round, unless they are so already', async () => {
    const name = 'transformer.h.0.mlp.c_fc.weight';
    const [turned, kept, bias] = stored('gpt2', [
      tensor(name, [2, 3]),
      { ...tensor('h.1.mlp.c_fc.weight', [2, 3]), transposed: true },
      tensor('transformer.h.0.mlp.c_fc.bias', [3]),
      tensor('h.0.attn.bias', [1, 1, 8, 8]),
    ]);
    expect(turned).toMatchObject({ name: 'blk.0.ffn_up.weight', shape: [3, 2] });
    expect(await floatsOf(turned!)).toEqual([0, 3, 1, 4, 2, 5]);
    expect(kept).toMatchObject({ name: 'blk.1.ffn_up.weight', shape: [3, 2] });
    expect(await floatsOf(kept!)).toEqual([0, 1, 2, 3, 4, 5]);
    expect(await floatsOf(bias!)).toEqual([0, 1, 2]);
    const quantized = { ...tensor(name, [32, 32]), dtype: 'q8_0' };
    expect(() => stored('gpt2', [quantized])).toThrow(UnsupportedError);
    expect(() => stored('gpt2', [quantized])).toThrow(/blocks of q8_0 cannot be transposed/);
  });

  it('adds 1 to the norms of Gemma, as f32, unless it was added already', async () => {
    const half = { dtype: 'bf16', data: () => encodeElements('bf16', Float32Array.of(0.5, -2)) };
    const [added, kept, other] = stored('gemma3', [
      { ...tensor('model.layers.0.self_attn.q_norm.weight', [2]), ...half },
      { ...tensor('model.norm.weight', [2]), plus: 1 },
      tensor('model.embed_tokens.weight', [1, 2]),
    ]);
    expect(added).toMatchObject({ name: 'blk.0.attn_q_norm.weight', dtype: 'f32' });
    expect(await floatsOf(added!)).toEqual([1.5, -1]);
    expect(await floatsOf(kept!)).toEqual([0, 1]);
    expect(await floatsOf(other!)).toEqual([0, 1]);
    const [odd] = stored('gemma3', [{ ...tensor('model.norm.weight', [2]), dtype: 'i32' }]);
    await expect(odd!.data()).rejects.toThrow(/"model\.norm\.weight" has the type i32, to which 1 cannot be added/);
  });

  it('leaves out what is no weight, and refuses what has no name', () => {
    expect(stored('llama', [tensor('model.layers.0.self_attn.rotary_emb.inv_freq', [4])])).toEqual([]);
    expect(() => stored('gemma2', [tensor('lm_head.weight', [2, 2])])).toThrow(/"lm_head\.weight" has no name/);
    expect(() => stored('qwen3', [tensor('model.layers.0.mlp.gate.weight', [2, 2])])).toThrow(UnsupportedError);
  });
});
