import { join } from 'node:path';
import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { familyFixture, smallSizes } from '../__fixtures__/families.ts';
import { temporaryDirectory } from '../__fixtures__/temporary-directory.ts';
import { openCheckpoint } from '../open-checkpoint.ts';
import { plannedDtypes } from '../quantize/quantize-plan.ts';
import { readTensor } from '../tensor/read-tensor.ts';
import { weightSource } from '../tensor/weight-source.ts';
import { syntheticTokenIds } from './byte-level-tokenizer.ts';
import { syntheticModel, writeSynthetic } from './synthetic-model.ts';

const directory = await temporaryDirectory();

function meanAndDeviation(values: Float32Array): [number, number] {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return [mean, Math.sqrt(values.reduce((sum, value) => sum + (value - mean) ** 2, 0) / values.length)];
}

describe('writeSynthetic', () => {
  it('gives weights the promised spread, also those that a checkpoint keeps transposed or less 1', async () => {
    for (const name of ['gpt2', 'gemma3']) {
      const { config, weights } = familyFixture(name);
      const path = join(directory, name);
      await writeSynthetic(path, { config, weights, dtype: 'f32' });
      const checkpoint = await openCheckpoint(path);
      for (const { name: weight, role, shape, plus = 0, transposed } of weights) {
        const tensor = checkpoint.tensors.get(weight)!;
        expect(tensor.shape).toEqual(transposed ? [...shape].reverse() : shape);
        const [mean, deviation] = meanAndDeviation(await readTensor(tensor));
        if (role === 'vector') {
          // Uniform within 0.1 of the centre: its mean cannot be farther away, and 16 values are never all the same.
          expect(Math.abs(mean + plus - (weight.endsWith('.weight') ? 1 : 0)), weight).toBeLessThan(0.1);
          expect(deviation, weight).toBeGreaterThan(0.01);
          continue;
        }
        const residual = /o_proj|down_proj|c_proj/.test(weight) ? 1 / Math.sqrt(2 * 2) : 1;
        // 2,048 values and more: their deviation strays by a few percent.
        expect((deviation * Math.sqrt(shape[1]!)) / residual, weight).toBeGreaterThan(0.9);
        expect((deviation * Math.sqrt(shape[1]!)) / residual, weight).toBeLessThan(1.1);
      }
      await checkpoint.close();
    }
  });

  it('quantizes matrices only, along the rows that the model reads', async () => {
    const { config, weights } = familyFixture('gpt2');
    const path = join(directory, 'gpt2.gguf');
    await writeSynthetic(path, { config, weights, dtype: 'q4_0', embeddingDtype: 'q8_0' });
    const checkpoint = await openCheckpoint(path);
    for (const spec of weights) {
      const { dtype, file } = weightSource(checkpoint.tensors.get(spec.name)!, spec);
      const matrixType = spec.name.includes('.wte.') ? 'q8_0' : spec.name.includes('.wpe.') ? 'f32' : 'q4_0';
      expect(dtype, spec.name).toBe(spec.role === 'vector' ? 'f32' : matrixType);
      expect(file.path).toBe(path);
    }
    expect(checkpoint.config).toMatchObject({ eos_token_id: syntheticTokenIds.eos });
    await checkpoint.close();
  });

  it('gives each matrix the type of a plan, with the promised spread in blocks of 256 too', async () => {
    const { config, weights } = familyFixture('qwen2', { ...smallSizes, hiddenSize: 256, intermediateSize: 512 });
    const rules = [{ pattern: '*down_proj.weight', dtype: 'q6_k' }] as const;
    const dtype = plannedDtypes(weights, { dtype: 'q4_k', rules });
    const path = join(directory, 'mixed.gguf');
    await writeSynthetic(path, { config, weights, dtype });
    const checkpoint = await openCheckpoint(path);
    const counts = new Map<string, number>();
    for (const { name, role, shape } of weights) {
      const tensor = checkpoint.tensors.get(name)!;
      expect(tensor.dtype, name).toBe(role === 'vector' ? 'f32' : dtype.get(name));
      counts.set(tensor.dtype, (counts.get(tensor.dtype) ?? 0) + 1);
      if (role === 'vector') continue;
      const [mean, deviation] = meanAndDeviation(await readTensor(tensor));
      const residual = /o_proj|down_proj/.test(name) ? 1 / Math.sqrt(2 * 2) : 1;
      expect(Math.abs((deviation * Math.sqrt(shape[1]!)) / residual - 1), name).toBeLessThan(0.05);
      expect(Math.abs(mean), name).toBeLessThan(0.05 * deviation);
    }
    expect([...counts.keys()].sort()).toEqual(['f32', 'q4_k', 'q5_0', 'q6_k']);
    await checkpoint.close();
    dtype.delete('model.layers.1.mlp.up_proj.weight');
    const model = () => syntheticModel({ config, weights, dtype });
    expect(model).toThrow(/No type was given for the matrix "model\.layers\.1\.mlp\.up_proj\.weight"/);
  });

  it('keeps token ids that the config has, and follows the seed', () => {
    const { config, weights } = familyFixture('qwen3');
    const model = (seed: number) =>
      syntheticModel({ config: { ...config, eos_token_id: 7 }, weights, dtype: 'f32', seed });
    expect(model(0).config).toMatchObject({ eos_token_id: 7, bos_token_id: syntheticTokenIds.bos });
    const norm = (seed: number) =>
      model(seed)
        .tensors.find(({ name }) => name === 'model.norm.weight')!
        .data();
    expect(norm(1)).toEqual(norm(1));
    expect(norm(1)).not.toEqual(norm(2));
  });

  it('refuses what the tokenizer or the format cannot hold', async () => {
    const { config, weights } = familyFixture('llama');
    const small = { config: { ...config, vocab_size: 100 }, weights, dtype: 'f32' } as const;
    expect(() => syntheticModel(small)).toThrow(/vocab_size must be at least/);
    await expect(writeSynthetic(join(directory, 'q'), { config, weights, dtype: 'q4_0' })).rejects.toThrow(
      InvalidArgumentError,
    );
  });
});
