import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeElements, type WeightSource, type WeightSpec } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type FamilyFixture,
  type FamilySizes,
  familyFixture,
  familyNames,
  smallSizes,
} from '../../__fixtures__/families.ts';
import { temporaryDirectory } from '../../__fixtures__/temporary-directory.ts';
import type { Checkpoint } from '../../checkpoint.ts';
import { convertToGguf, convertToHuggingFaceDirectory } from '../../convert.ts';
import { writeHuggingFaceDirectory } from '../../hugging-face/write-directory.ts';
import { openCheckpoint } from '../../open-checkpoint.ts';
import { SeededRandom } from '../../synthetic/random-weights.ts';
import { writeSynthetic } from '../../synthetic/synthetic-model.ts';
import { hashText } from '../../synthetic/weight-factory.ts';
import { encodeElements } from '../../tensor/encode.ts';
import { readTensor } from '../../tensor/read-tensor.ts';
import type { TensorToWrite } from '../../tensor/tensor-to-write.ts';
import { weightSource } from '../../tensor/weight-source.ts';
import type { GgufMetadataToWrite } from '../metadata-encoder.ts';

const directory = await temporaryDirectory();
let count = 0;
const newPath = (end = '') => join(directory, `${count++}${end}`);

async function expectSameTensors(a: Checkpoint, b: Checkpoint): Promise<void> {
  expect([...b.tensors.keys()].sort()).toEqual([...a.tensors.keys()].sort());
  for (const [name, tensor] of a.tensors) {
    const other = b.tensors.get(name)!;
    expect(other.shape, name).toEqual(tensor.shape);
    const [expected, found] = [await readTensor(tensor), await readTensor(other)];
    expect(Buffer.from(found.buffer).equals(Buffer.from(expected.buffer)), name).toBe(true);
  }
}

/** Values in steps that survive having 1 added and taken off in f32; for the same reason no negative zeros. */
function randomTensor({ name, shape, transposed }: WeightSpec, seed: number): TensorToWrite {
  const random = new SeededRandom(hashText(name, seed));
  const length = shape.reduce((product, dim) => product * dim, 1);
  const values = Float32Array.from({ length }, () => (Math.round(4096 * random.uniform()) + 0) / 4096);
  const asKept = transposed ? [...shape].reverse() : shape;
  return { name, dtype: 'f32', shape: asKept, data: () => encodeElements('f32', values) };
}

/** A Hugging Face directory of the model, opened. */
async function openRandom({ config, weights }: FamilyFixture, seed: number): Promise<Checkpoint> {
  const folder = newPath();
  await writeHuggingFaceDirectory(folder, { config, tensors: weights.map((spec) => randomTensor(spec, seed)) });
  return openCheckpoint(folder);
}

/** The floats that a backend gets, rows in order. */
async function floatsOf({ dtype, file, offset, byteLength, rowOrder }: WeightSource): Promise<Float32Array> {
  const bytes = await file.read(offset, byteLength);
  if (!rowOrder) return decodeElements(dtype, bytes);
  const rowBytes = byteLength / rowOrder.length;
  const rows = Array.from(rowOrder, (row) => bytes.subarray(row * rowBytes, (row + 1) * rowBytes));
  return decodeElements(dtype, Buffer.concat(rows));
}

describe.each([...familyNames])('%s', (name) => {
  const { config, weights } = familyFixture(name);
  const seed = 5;

  it('comes back from GGUF with the same config and the same bits, both ways', async () => {
    const file = newPath('.gguf');
    const original = await openRandom({ config, weights }, seed);
    await convertToGguf(original, file, { dtype: 'f32' });
    const gguf = await openCheckpoint(file);
    expect(gguf.config).toEqual(original.config);
    expect(gguf.warnings).toEqual([]);
    await expectSameTensors(original, gguf);

    const back = newPath();
    await convertToHuggingFaceDirectory(gguf, back);
    const folderAgain = await openCheckpoint(back);
    expect(folderAgain.config).toEqual({ ...original.config, torch_dtype: 'float32' });
    await expectSameTensors(original, folderAgain);

    const again = newPath('.gguf');
    await convertToGguf(gguf, again, { dtype: 'f32' });
    expect((await readFile(again)).equals(await readFile(file))).toBe(true);
    await Promise.all([original, gguf, folderAgain].map((checkpoint) => checkpoint.close()));
  });

  it('gives a backend the same floats from both forms, as they lie in GGUF', async () => {
    const [folder, file] = [newPath(), newPath('.gguf')];
    await writeSynthetic(folder, { config, weights, dtype: 'bf16', seed });
    await writeSynthetic(file, { config, weights, dtype: 'bf16', seed });
    const [original, gguf] = [await openCheckpoint(folder), await openCheckpoint(file)];
    expect(gguf.config).toEqual(original.config);
    for (const spec of weights) {
      const stored = weightSource(gguf.tensors.get(spec.name)!, spec);
      const source = weightSource(original.tensors.get(spec.name)!, spec);
      expect(stored.shape, spec.name).toEqual(spec.shape);
      expect(source.shape, spec.name).toEqual(spec.shape);
      expect(stored.dtype).toBe(spec.role === 'vector' ? 'f32' : 'bf16');
      expect(stored.file).toBe(gguf.tensors.get(spec.name)!.file);
      const [expected, found] = [await floatsOf(source), await floatsOf(stored)];
      expect(Buffer.from(found.buffer).equals(Buffer.from(expected.buffer)), spec.name).toBe(true);
    }
    await Promise.all([original.close(), gguf.close()]);
  });

  it('is quantized along the rows that the model reads', async () => {
    const [quantized, synthetic] = [newPath('.gguf'), newPath('.gguf')];
    const original = await openRandom({ config, weights }, seed);
    await convertToGguf(original, quantized, { dtype: 'q8_0' });
    const gguf = await openCheckpoint(quantized);
    for (const spec of weights) {
      const source = weightSource(gguf.tensors.get(spec.name)!, spec);
      const isKept = spec.role === 'vector' || /mlp\.gate\.weight|wpe/.test(spec.name);
      expect(source.dtype, spec.name).toBe(isKept ? 'f32' : 'q8_0');
      const [expected, found] = [
        await floatsOf(weightSource(original.tensors.get(spec.name)!, spec)),
        await floatsOf(source),
      ];
      const columns = spec.shape.at(-1)!;
      for (let at = 0; at < found.length; at += 32) {
        // Half a step of q8_0, 1 / 127 of the largest magnitude of the block, and the rounding of the scale to f16.
        const block = expected.subarray(at, at + Math.min(32, columns));
        const step = Math.max(...block.map(Math.abs)) / 127;
        const error = Math.max(...block.map((value, i) => Math.abs(value - found[at + i]!)));
        expect(error, `${spec.name} at ${at}`).toBeLessThanOrEqual(isKept ? 0 : step * (0.5 + 127 * 2 ** -11));
      }
    }
    await writeSynthetic(synthetic, { config, weights, dtype: 'q4_0', seed });
    const random = await openCheckpoint(synthetic);
    for (const spec of weights) expect(weightSource(random.tensors.get(spec.name)!, spec).shape).toEqual(spec.shape);
    await Promise.all([original, gguf, random].map((checkpoint) => checkpoint.close()));
  });

  it('comes in as many files as asked for, with the tokenizer in the first', async () => {
    const [original, whole] = [await openRandom({ config, weights }, seed), newPath('.gguf')];
    const metadata: GgufMetadataToWrite = new Map([['tokenizer.ggml.model', 'gpt2']]);
    await convertToGguf(original, whole, { dtype: 'f16', metadata });
    const gguf = await openCheckpoint(whole);
    const paths = await convertToGguf(original, newPath('.gguf'), { dtype: 'f16', metadata, maxShardBytes: 100_000 });
    expect(paths.length).toBeGreaterThan(2);
    const split = await openCheckpoint(paths[1]!);
    expect(split.config).toEqual(gguf.config);
    expect(split.name).toBe(original.name);
    await expectSameTensors(gguf, split);
    expect(split.tokenizer?.kind === 'gguf' && split.tokenizer.metadata.has('tokenizer.ggml.model')).toBe(true);
    await Promise.all([original, gguf, split].map((checkpoint) => checkpoint.close()));
  });
});

describe('models of any size', () => {
  it('come back from GGUF with the same config and the same bits', async () => {
    const sizes = fc.record({
      numLayers: fc.integer({ min: 1, max: 3 }),
      numKvHeads: fc.integer({ min: 1, max: 3 }),
      groups: fc.integer({ min: 1, max: 3 }),
      headDim: fc.constantFrom(8, 16, 24),
      hiddenSize: fc.constantFrom(24, 48, 72),
      intermediateSize: fc.constantFrom(8, 24, 40),
      numExperts: fc.integer({ min: 2, max: 12 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...familyNames), sizes, fc.nat(), async (name, { groups, ...given }, seed) => {
        const drawn: FamilySizes = { ...smallSizes, ...given, numHeads: given.numKvHeads * groups };
        const { config, weights } = familyFixture(name, drawn);
        const original = await openRandom({ config, weights }, seed);
        const file = newPath('.gguf');
        await convertToGguf(original, file, { dtype: 'f32' });
        const gguf = await openCheckpoint(file);
        expect(gguf.config).toEqual(original.config);
        await expectSameTensors(original, gguf);
        await Promise.all([original.close(), gguf.close()]);
      }),
      { seed: 21, numRuns: 40 },
    );
  }, 120_000);
});
