import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../__fixtures__/temporary-directory.ts';
import { readGguf } from '../gguf/read-gguf.ts';
import { openCheckpoint } from '../open-checkpoint.ts';
import { readTensor } from '../tensor/read-tensor.ts';
import { syntheticTokenIds, syntheticVocabSize } from './byte-level-tokenizer.ts';
import { type LlamaShape, llama1BShape, syntheticLlama, writeSyntheticLlama } from './synthetic-llama.ts';

const directory = await temporaryDirectory();
const shape: LlamaShape = {
  hiddenSize: 64,
  intermediateSize: 160,
  numLayers: 2,
  numHeads: 2,
  numKvHeads: 1,
  vocabSize: 300,
  contextLength: 64,
};

describe('writeSyntheticLlama', () => {
  for (const dtype of ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1'] as const) {
    it(`${dtype}: writes a GGUF file that opens, with weights of the promised spread`, async () => {
      const path = join(directory, `${dtype}.gguf`);
      await writeSyntheticLlama(path, { shape, dtype });
      const checkpoint = await openCheckpoint(path);
      expect(checkpoint.tensors.size).toBe(3 + 2 * 9);
      for (const tensor of checkpoint.tensors.values()) {
        if (tensor.shape.length < 2) continue;
        const [, columns] = tensor.shape as [number, number];
        const values = await readTensor(tensor);
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
        const deviation = Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length);
        const residual = /o_proj|down_proj/.test(tensor.name) ? 1 / Math.sqrt(2 * 2) : 1;
        // The smallest matrix has 2,048 values in 64 blocks: their deviation strays by a few percent. The mean of q4_0 is half
        // a step, with a random sign for each block.
        expect(deviation * Math.sqrt(columns)).toBeGreaterThan(0.85 * residual);
        expect(deviation * Math.sqrt(columns)).toBeLessThan(1.15 * residual);
        expect(Math.abs(mean)).toBeLessThan(0.1 * deviation);
      }
      await checkpoint.close();
    });
  }

  it('writes the same bytes for the same seed and others for another', async () => {
    const write = async (name: string, seed: number) => {
      const path = join(directory, name);
      await writeSyntheticLlama(path, { shape, dtype: 'q4_0', seed });
      return readFile(path);
    };
    const first = await write('first.gguf', 1);
    expect(first.equals(await write('again.gguf', 1))).toBe(true);
    expect(first.equals(await write('other.gguf', 2))).toBe(false);
  });

  it('writes no two equal rows, in or across tensors of a kind', async () => {
    const checkpoint = await openCheckpoint(join(directory, 'q4_0.gguf'));
    const rows = new Set<string>();
    let count = 0;
    for (const layer of [0, 1]) {
      const tensor = checkpoint.tensors.get(`model.layers.${layer}.mlp.gate_proj.weight`)!;
      const values = await readTensor(tensor);
      for (let row = 0; row < 160; row++, count++) rows.add(values.subarray(row * 64, row * 64 + 64).join());
    }
    expect(rows.size).toBe(count);
    await checkpoint.close();
  });

  it('writes the same floats as a Hugging Face directory', async () => {
    const path = join(directory, 'folder');
    await writeSyntheticLlama(path, { shape, dtype: 'f32', attentionBias: true });
    await writeSyntheticLlama(`${path}.gguf`, { shape, dtype: 'f32', attentionBias: true });
    const [folder, gguf] = await Promise.all([openCheckpoint(path), openCheckpoint(`${path}.gguf`)]);
    expect([...folder.tensors.keys()].sort()).toEqual([...gguf.tensors.keys()].sort());
    for (const [name, tensor] of folder.tensors) {
      const [a, b] = [await readTensor(tensor), await readTensor(gguf.tensors.get(name)!)];
      expect(Buffer.from(a.buffer).equals(Buffer.from(b.buffer)), name).toBe(true);
    }
    expect(gguf.config).toEqual(folder.config);
    await Promise.all([folder.close(), gguf.close()]);
  });

  it('carries a byte-level tokenizer in both forms', async () => {
    const { metadata } = await readGguf(join(directory, 'folder.gguf'));
    const tokens = metadata.get('tokenizer.ggml.tokens') as string[];
    expect(tokens).toHaveLength(300);
    expect(new Set(tokens).size).toBe(300);
    expect(tokens[0x61]).toBe('a');
    expect(tokens[0x20]).toBe('Ġ');
    expect(tokens[syntheticTokenIds.bos]).toBe('<|bos|>');
    expect((metadata.get('tokenizer.ggml.token_type') as Int32Array)[syntheticTokenIds.eos]).toBe(3);
    expect((metadata.get('tokenizer.ggml.token_type') as Int32Array)[syntheticVocabSize]).toBe(5);
    const json = JSON.parse(await readFile(join(directory, 'folder', 'tokenizer.json'), 'utf8'));
    for (const [token, id] of Object.entries(json.model.vocab)) expect(tokens[id as number]).toBe(token);
    for (const { id, content } of json.added_tokens) expect(tokens[id]).toBe(content);
  });

  it('refuses shapes that are none, and types that a directory cannot hold', async () => {
    const wrong: [Partial<LlamaShape>, RegExp][] = [
      [{ vocabSize: 100 }, /vocabSize must be at least/],
      [{ numHeads: 3 }, /even number of dimensions/],
      [{ numHeads: 2, numKvHeads: 4 }, /must be a multiple of numKvHeads/],
      [{ numLayers: 0 }, /numLayers must be above 0/],
    ];
    for (const [change, message] of wrong) {
      expect(() => syntheticLlama({ shape: { ...shape, ...change }, dtype: 'f32' })).toThrow(message);
    }
    expect(() => syntheticLlama({ shape: { ...shape, hiddenSize: 48 }, dtype: 'q4_0' })).toThrow(/multiples of 32/);
    await expect(writeSyntheticLlama(join(directory, 'x'), { shape, dtype: 'q4_0' })).rejects.toThrow(
      InvalidArgumentError,
    );
  });

  it('has 1.1 billion parameters in its large shape', () => {
    const { tensors } = syntheticLlama({ shape: llama1BShape, dtype: 'q4_0' });
    const count = tensors.reduce((sum, tensor) => sum + tensor.shape.reduce((product, dim) => product * dim, 1), 0);
    expect(count).toBe(1_100_048_384);
  });
});
