import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  convertToHuggingFaceDirectory,
  encodeElements,
  openCheckpoint,
  readTensor,
  type TensorToWrite,
  weightSource,
  writeHuggingFaceDirectory,
} from '@hearth/checkpoint';
import type { Backend, WeightSource } from '@hearth/core';
import { createCpuBackend } from '@hearth/kernels';
import { buildModel } from '@hearth/models';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { singleBatch } from '../single-batch.ts';
import { familySamples } from './families.ts';
import { f32Source, linearProgram } from './linear-program.ts';
import { proveCell } from './prove-cell.ts';
import { quantizationConfigs, quantizedTensors, type SafetensorsMethod } from './quantized-tensors.ts';
import { LinearCongruential, type PlainTensor, randomTensors } from './random-tensors.ts';

// AWQ, GPTQ and fp8 checkpoints on both backends, against the plain floats that their tensors stand for.

const methods = ['fp8', 'awq', 'gptq', 'gptq-act-order'] as const;
const tokens = 5;
let folder: string;
const backends: Backend[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'hearth-quantized-'));
  backends.push(createReferenceBackend(), await createCpuBackend());
});

afterAll(async () => {
  for (const backend of backends) await backend.dispose();
  await rm(folder, { recursive: true });
});

describe('a product with a matrix of', () => {
  const [rows, columns] = [48, 384];
  const random = new LinearCongruential(7);
  const input = Float32Array.from({ length: tokens * columns }, () => random.uniform());

  it.each(methods)('%s is that with its values', async (method) => {
    const path = join(folder, `product-${method}`);
    const tensors = quantizedTensors(method, { name: 'm.weight', shape: [rows, columns], values: new Float32Array() });
    await writeHuggingFaceDirectory(path, { config: { quantization_config: quantizationConfigs[method] }, tensors });
    const checkpoint = await openCheckpoint(path);
    const tensor = checkpoint.tensors.get('m.weight')!;
    const values = await readTensor(tensor);
    const source = weightSource(tensor, {});
    const [product, onKernels] = [await multiply(backends[0]!, source), await multiply(backends[1]!, source)];
    expect(product).toEqual(onKernels);
    if (method === 'fp8') {
      expect(product).toEqual(await multiply(backends[0]!, f32Source('m.weight', [rows, columns], values)));
    } else {
      expectWithinRounding(product, values, source.columnOrder);
    }
    expect(source.columnOrder !== undefined).toBe(method === 'gptq-act-order');
    await checkpoint.close();
  });

  /** [tokens, rows] */
  async function multiply(backend: Backend, source: WeightSource): Promise<Float32Array> {
    const program = linearProgram('m.weight', [rows, columns], tokens);
    const sources = new Map([
      ['m.weight', source],
      ['input', f32Source('input', [tokens, columns], input)],
    ]);
    const weights = await backend.loadWeights(program.weights, sources);
    const executable = await backend.compile(program, weights, {
      maxTokens: tokens,
      maxOutputRows: 1,
      cache: { dtype: 'f32', blockSize: 16, numBlocks: 1 },
    });
    const ids = Array.from({ length: tokens }, (_, i) => i);
    const { captures } = await executable.step(singleBatch(ids, 0, [0], executable.cache, 1));
    await executable.dispose();
    await weights.dispose();
    return captures!.get('product')!;
  }

  /**
   * Activations are rounded to 127 steps of the largest of 32, in the order of the columns of the file: each is off by half a
   * step at most. The sums in f32 add a little: 2^-20 of the sizes is over ten roundings.
   */
  function expectWithinRounding(product: Float32Array, values: Float32Array, columnOrder?: Uint32Array): void {
    const place = (i: number) => (columnOrder ? columnOrder[i]! : i);
    for (const [at, found] of product.entries()) {
      const [token, row] = [Math.floor(at / rows), at % rows];
      let [exact, bound] = [0, 0];
      for (let block = 0; block < columns; block += 32) {
        const pairs = Array.from({ length: 32 }, (_, i) => [
          values[row * columns + place(block + i)]!,
          input[token * columns + place(block + i)]!,
        ]) as [number, number][];
        const halfStep = Math.max(...pairs.map(([, x]) => Math.abs(x))) / 254;
        for (const [w, x] of pairs) {
          exact += w * x;
          bound += Math.abs(w) * (halfStep + Math.abs(x) * 2 ** -20);
        }
      }
      expect(Math.abs(found - exact)).toBeLessThanOrEqual(bound);
    }
  }
});

describe.each(['llama', 'qwen2'] as const)('a small %s', (family) => {
  const { config } = familySamples[family];

  // Reference and kernels run 256 tokens twice: some seconds where two cores are busy.
  it.each(methods)(
    'of %s goes with the same model in f32',
    async (method) => {
      const [path, plainPath] = [join(folder, `${family}-${method}`), join(folder, `${family}-${method}-plain`)];
      const tensors = randomTensors((await buildModel(config, { contextLength: 512 })).weights);
      await writeHuggingFaceDirectory(path, {
        config: { ...config, quantization_config: quantizationConfigs[method] },
        tensors: tensors.flatMap((tensor) => modelTensors(method, tensor)),
      });
      const checkpoint = await openCheckpoint(path);
      await convertToHuggingFaceDirectory(checkpoint, plainPath);
      await checkpoint.close();
      const quantized = await proveCell(path, backends, new Set([method === 'fp8' ? 'f8_e4m3' : 'int4_g128']));
      const plain = await proveCell(plainPath, backends, new Set(['f32']));
      if (quantized.kind !== 'proven' || plain.kind !== 'proven') {
        throw new Error(`The model was refused: ${JSON.stringify([quantized, plain]).slice(0, 500)}`);
      }
      // Activations of fp8 matrices are not rounded, so it is the same chain of the same numbers.
      if (method === 'fp8') expect(quantized.logits).toEqual(plain.logits);
      else expectSameTokens(quantized.logits, plain.logits, config.vocab_size);
    },
    120_000,
  );
});

/** Matrices of layers quantized, all others in f32. */
function modelTensors(method: SafetensorsMethod, tensor: PlainTensor): TensorToWrite[] {
  const { name, shape, values } = tensor;
  if (shape.length === 1 || /embed_tokens|lm_head/.test(name)) {
    return [{ name, dtype: 'f32', shape, data: () => encodeElements('f32', values) }];
  }
  // Zero points 7 and 8 in turn, so that random codes are 0 on average: matrices of other means make all tokens alike.
  const zeroByte = method === 'awq' ? 0x87 : 0x76;
  return quantizedTensors(method, tensor).map((member) =>
    member.name.endsWith('.qzeros')
      ? { ...member, data: () => new Uint8Array(4 * member.shape[0]! * member.shape[1]!).fill(zeroByte) }
      : member,
  );
}

/**
 * Rounding activations to 8 bits is off by some 0.7% of a product's size: half of 1/127 of the largest of 32, which is about
 * three deviations, and uniform. Eight products follow each other, √8 · 0.7% = 2%. A code or column in a wrong place makes the
 * difference as large as the logits. The best token must be the same where it leads by eight times the difference, which is
 * over five deviations of the gap.
 */
function expectSameTokens(logits: Float32Array, plain: Float32Array, vocabSize: number): void {
  const size = Math.hypot(...plain);
  const difference = Math.hypot(...plain.map((value, i) => value - logits[i]!));
  expect(difference).toBeLessThan(0.02 * size);
  const leastGap = (8 * difference) / Math.sqrt(plain.length);
  let numCompared = 0;
  for (let row = 0; row < plain.length; row += vocabSize) {
    const expected = [...plain.subarray(row, row + vocabSize)];
    const best = Math.max(...expected);
    const second = Math.max(...expected.filter((value) => value !== best));
    if (best - second < leastGap) continue;
    numCompared++;
    const found = logits.subarray(row, row + vocabSize);
    expect(found.indexOf(Math.max(...found)), `token ${row / vocabSize}`).toBe(expected.indexOf(best));
  }
  // Most tokens lead by that much, so the comparison means something.
  expect(numCompared).toBeGreaterThan(plain.length / vocabSize / 2);
}
