import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { bf16ToF32, f32ToBf16, InvalidArgumentError, InvalidModelError, MemoryFile } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import type { Checkpoint } from './checkpoint.ts';
import { convertToGguf, convertToHuggingFaceDirectory } from './convert.ts';
import { type GgufMetadataToWrite, metadataOf } from './gguf/metadata-encoder.ts';
import { readGguf } from './gguf/read-gguf.ts';
import { writeHuggingFaceDirectory } from './hugging-face/write-directory.ts';
import { openCheckpoint } from './open-checkpoint.ts';
import { plannedDtypes } from './quantize/quantize-plan.ts';
import { recodedSource } from './quantize/recoded-source.ts';
import { typescriptQuantizer } from './quantize/typescript-quantizer.ts';
import { syntheticTokenizerMetadata } from './synthetic/byte-level-tokenizer.ts';
import { type SyntheticLlamaOptions, writeSyntheticLlama } from './synthetic/synthetic-llama.ts';
import { encodeElements } from './tensor/encode.ts';
import { readStoredRows, readTensor } from './tensor/read-tensor.ts';
import { weightSource } from './tensor/weight-source.ts';

const directory = await temporaryDirectory();
const shape = {
  hiddenSize: 64,
  intermediateSize: 96,
  numLayers: 2,
  numHeads: 4,
  numKvHeads: 2,
  vocabSize: 270,
  contextLength: 128,
};

async function openSynthetic(name: string, options: Partial<SyntheticLlamaOptions>): Promise<Checkpoint> {
  const path = join(directory, name);
  await writeSyntheticLlama(path, { shape, dtype: 'f32', seed: 3, ...options });
  return openCheckpoint(path);
}

/** All tensors of two checkpoints have the same names, shapes and bits (after a change of the first one's values). */
async function expectSameTensors(a: Checkpoint, b: Checkpoint, change = (value: number) => value): Promise<void> {
  expect([...b.tensors.keys()].sort()).toEqual([...a.tensors.keys()].sort());
  for (const [name, tensor] of a.tensors) {
    const expected = (await readTensor(tensor)).map(change);
    const found = await readTensor(b.tensors.get(name)!);
    expect(b.tensors.get(name)!.shape).toEqual(tensor.shape);
    expect(Buffer.from(found.buffer).equals(Buffer.from(expected.buffer)), name).toBe(true);
  }
}

describe('convertToHuggingFaceDirectory', () => {
  it('writes the dequantized weights of a GGUF file, bit for bit, under the same config', async () => {
    const gguf = await openSynthetic('quantized.gguf', { dtype: 'q4_1', embeddingDtype: 'q8_0', attentionBias: true });
    const path = join(directory, 'dequantized');
    await convertToHuggingFaceDirectory(gguf, path, { tokenizerJson: '{"made":"elsewhere"}' });
    const converted = await openCheckpoint(path);
    await expectSameTensors(gguf, converted);
    expect(converted.config).toEqual({ ...gguf.config, torch_dtype: 'float32' });
    expect(converted.tokenizer).toMatchObject({ kind: 'tokenizer-json' });
    expect(converted.chatTemplate).toEqual({ jinjaFile: gguf.chatTemplate.ggufTemplate });
    expect([...converted.tensors.values()].every(({ dtype, rowOrder }) => dtype === 'f32' && !rowOrder)).toBe(true);
    await Promise.all([gguf.close(), converted.close()]);
  });

  it('writes weights rounded to bf16, in shards', async () => {
    const gguf = await openSynthetic('tied.gguf', { shape: { ...shape, tieWordEmbeddings: true } });
    const path = join(directory, 'rounded');
    await convertToHuggingFaceDirectory(gguf, path, { dtype: 'bf16', maxShardBytes: 40_000 });
    const converted = await openCheckpoint(path);
    await expectSameTensors(gguf, converted, (value) => bf16ToF32(f32ToBf16(value)));
    expect(converted.config).toMatchObject({ torch_dtype: 'bfloat16', tie_word_embeddings: true });
    expect(converted.tensors.has('lm_head.weight')).toBe(false);
    expect((await readdir(path)).filter((name) => name.endsWith('.safetensors')).length).toBeGreaterThan(2);
    await Promise.all([gguf.close(), converted.close()]);
  });

  it('passes tokenizer, template and generation config of a directory through', async () => {
    const source = await openSynthetic('source', {});
    const path = join(directory, 'copied');
    await convertToHuggingFaceDirectory(source, path);
    const copy = await openCheckpoint(path);
    expect(copy.tokenizer).toEqual(source.tokenizer);
    expect(copy.chatTemplate).toEqual(source.chatTemplate);
    expect(copy.generationConfig).toEqual(source.generationConfig);
    await Promise.all([source.close(), copy.close()]);
  });
});

describe('convertToGguf', () => {
  it('keeps f32 weights bit for bit, and the config', async () => {
    const source = await openSynthetic('to convert', { attentionBias: true });
    const path = join(directory, 'converted.gguf');
    await convertToGguf(source, path, { dtype: 'f32' });
    const converted = await openCheckpoint(path);
    await expectSameTensors(source, converted);
    expect(converted.config).toEqual(source.config);
    await Promise.all([source.close(), converted.close()]);
  });

  it('quantizes matrices, keeps vectors, and drops a head that is tied', async () => {
    const tied = { ...shape, intermediateSize: 80, tieWordEmbeddings: false };
    const source = await openSynthetic('to quantize', { shape: tied });
    const path = join(directory, 'q.gguf');
    const config = { ...source.config, tie_word_embeddings: true };
    const tokenizer = metadataOf(await readGguf(join(directory, 'quantized.gguf')), 'tokenizer.');
    await convertToGguf({ ...source, config }, path, {
      dtype: 'q4_0',
      embeddingDtype: 'q8_0',
      name: 'mine',
      metadata: tokenizer,
    });
    const { tensors, metadata } = await readGguf(path);
    const types = Object.fromEntries(tensors.map(({ name, dtype }) => [name, dtype]));
    expect(types).toMatchObject({
      'token_embd.weight': 'q8_0',
      'output_norm.weight': 'f32',
      'blk.1.attn_q.weight': 'q4_0',
      'blk.1.attn_norm.weight': 'f32',
      // 80 columns are no whole blocks of 32.
      'blk.1.ffn_down.weight': 'f16',
    });
    expect(types).not.toHaveProperty('output.weight');
    expect(metadata.get('general.name')).toBe('mine');
    expect(metadata.get('general.quantization_version')).toBe(2);
    expect(metadata.get('tokenizer.ggml.model')).toBe('gpt2');
    await source.close();
  });
});

describe('convertToGguf, quantizing', () => {
  it('copies what has its type already, rows in rope pairs too, and keeps tokenizer, template and authors', async () => {
    const path = join(directory, 'first.gguf');
    const metadata: GgufMetadataToWrite = new Map([...syntheticTokenizerMetadata(270), ['general.author', 'somebody']]);
    const source = await openSynthetic('to copy', {});
    await convertToGguf(source, path, { dtype: 'q4_1', metadata });
    const first = await openCheckpoint(path);
    const copy = join(directory, 'second.gguf');
    // A quantizer that must not be asked.
    const quantizer = { quantize: () => Promise.reject(new Error('was asked')) };
    await convertToGguf(first, copy, { dtype: 'q4_1', quantizer });
    expect((await readFile(copy)).equals(await readFile(path))).toBe(true);
    await expect(convertToGguf(first, copy, { dtype: 'q4_0', quantizer })).rejects.toThrow('was asked');
    expect((await readFile(copy)).equals(await readFile(path))).toBe(true);
    await Promise.all([source.close(), first.close()]);
  });

  it('follows the rules of the plan, says which type the file has, and how far it is', async () => {
    const wide = { ...shape, hiddenSize: 256, numHeads: 4, intermediateSize: 96 };
    const source = await openSynthetic('wide', { shape: wide });
    const path = join(directory, 'mixed.gguf');
    const progress: { doneBytes: number; totalBytes: number }[] = [];
    const onProgress = (event: { doneBytes: number; totalBytes: number }) => progress.push(event);
    const rules = [{ pattern: '*.0.*.v_proj.weight', dtype: 'q6_k' }] as const;
    await convertToGguf(source, path, { dtype: 'q4_k', rules, onProgress });
    const { tensors, metadata } = await readGguf(path);
    const types = Object.fromEntries(tensors.map(({ name, dtype }) => [name, dtype]));
    expect(types).toMatchObject({
      'token_embd.weight': 'q6_k',
      'output.weight': 'q6_k',
      'blk.0.attn_q.weight': 'q4_k',
      'blk.0.attn_v.weight': 'q6_k',
      'blk.1.attn_v.weight': 'q4_k',
      'blk.0.ffn_down.weight': 'q5_0',
    });
    expect(metadata.get('general.file_type')).toBe(14);
    const totalBytes = tensors.reduce((sum, { byteLength }) => sum + byteLength, 0);
    expect(progress.at(-1)).toEqual({ doneBytes: totalBytes, totalBytes });
    expect(progress.every(({ doneBytes }, i) => i === 0 || doneBytes > progress[i - 1]!.doneBytes)).toBe(true);
    const none = convertToGguf(source, path, { dtype: 'q4_k', rules: [{ pattern: 'attn_q', dtype: 'q8_0' }] });
    await expect(none).rejects.toThrow(/"attn_q" fits no weight/);
    await source.close();
  });

  it('names the tensor whose values the type cannot hold', async () => {
    const huge = Float32Array.from({ length: 64 }, () => 1e30);
    const source = await openSynthetic('to spoil', {});
    const name = 'model.layers.1.mlp.up_proj.weight';
    const tensor = { ...source.tensors.get(name)!, shape: [1, 64], offset: 0, byteLength: 256 };
    const file = new MemoryFile(encodeElements('f32', huge));
    const spoilt = { ...source, tensors: new Map([...source.tensors, [name, { ...tensor, file }]]) };
    const path = join(directory, 'spoilt.gguf');
    await expect(convertToGguf(spoilt, path, { dtype: 'q8_0' })).rejects.toThrow(InvalidModelError);
    await expect(convertToGguf(spoilt, path, { dtype: 'f16' })).rejects.toThrow(
      /tensor "model\.layers\.1\.mlp\.up_proj\.weight" as f16: .*too large/,
    );
    await source.close();
  });

  it.each(['q4_0', 'q5_k', 'f16'] as const)('%s: writes what a source that is recoded on load gives', async (dtype) => {
    const wide = { ...shape, hiddenSize: 256, numHeads: 4, intermediateSize: 96 };
    const source = await openSynthetic(`wide ${dtype}`, { shape: wide, dtype: 'bf16' });
    const path = join(directory, `recoded-${dtype}.gguf`);
    await convertToGguf(source, path, { dtype });
    const written = await openCheckpoint(path);
    const dtypes = plannedDtypes(source.tensors.values(), { dtype });
    for (const [name, tensor] of source.tensors) {
      const recoded = recodedSource(weightSource(tensor, {}), dtypes.get(name)!, { quantizer: typescriptQuantizer });
      const expected = written.tensors.get(name)!;
      expect(recoded.dtype).toBe(expected.dtype);
      const chunks: Uint8Array[] = [];
      for await (const chunk of readStoredRows(expected)) chunks.push(chunk);
      expect(Buffer.concat(chunks).equals(await recoded.file.read(recoded.offset, recoded.byteLength)), name).toBe(
        true,
      );
    }
    await Promise.all([source.close(), written.close()]);
  });
});

describe('writeHuggingFaceDirectory', () => {
  const model = { config: {}, tensors: [{ name: 'x', dtype: 'f32', shape: [1], data: () => new Uint8Array(4) }] };

  it('writes into a directory that is there and empty, also when its path ends in a separator', async () => {
    const path = join(directory, 'empty');
    await mkdir(path);
    await writeHuggingFaceDirectory(`${path}/`, model);
    expect((await readdir(path)).sort()).toEqual(['config.json', 'model.safetensors']);
  });

  it('refuses a directory with something in it, and leaves that alone', async () => {
    const path = join(directory, 'occupied');
    await mkdir(path);
    await writeFile(join(path, 'diary.txt'), 'mine');
    await expect(writeHuggingFaceDirectory(path, model)).rejects.toThrow(InvalidArgumentError);
    await expect(writeHuggingFaceDirectory(path, model)).rejects.toThrow(/diary\.txt/);
    expect(await readFile(join(path, 'diary.txt'), 'utf8')).toBe('mine');
    await expect(writeHuggingFaceDirectory(join(path, 'diary.txt'), model)).rejects.toThrow(InvalidArgumentError);
  });

  it('leaves nothing behind when a tensor fails', async () => {
    const failing = {
      ...model,
      tensors: [...model.tensors, { ...model.tensors[0]!, name: 'y', data: () => Promise.reject(new Error('lost')) }],
    };
    await expect(writeHuggingFaceDirectory(join(directory, 'failed'), failing)).rejects.toThrow('lost');
    expect((await readdir(directory)).filter((name) => name.startsWith('failed'))).toEqual([]);
  });
});
