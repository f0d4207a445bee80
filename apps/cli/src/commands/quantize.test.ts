import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openCheckpoint, readGguf, writeSyntheticLlama } from '@hearth/checkpoint';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli, tinyLlama } from '../__fixtures__/run-cli.ts';

let directory: string;
let model: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-cli-'));
  model = join(directory, 'model.gguf');
  const shape = {
    hiddenSize: 64,
    intermediateSize: 256,
    numLayers: 2,
    numHeads: 2,
    numKvHeads: 1,
    vocabSize: 270,
    contextLength: 128,
  };
  await writeSyntheticLlama(model, { shape, dtype: 'f16', seed: 5 });
});
afterAll(() => rm(directory, { recursive: true }));

describe('hearth quantize', () => {
  it('writes a GGUF file whose answers are those of --quantize on load, and says what changed', async () => {
    const output = join(directory, 'q4.gguf');
    const { code, stdout, stderr } = await runCli(['quantize', model, output, '--to', 'Q4_K']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: 'Writing q4_k (118.4 kB) ...\n' });
    // In elements: tables 2 · 270 · 64, attention 12,288, gate and up 32,768, down 16,384 in each of two layers.
    expect(stdout.split('\n').map((line) => line.replaceAll(/ {2,}/g, ' | '))).toEqual([
      'type | tensors | before | tensors | after',
      // The two of the table, attention and mlp but for down_proj: rows of 64.
      expect.stringMatching(/^f16 \| 16 \| /),
      expect.stringMatching(/^f32 \| 5 \| 1\.3 kB \| 5 \| 1\.3 kB$/),
      expect.stringMatching(/^q5_0 \| 12 \| /),
      expect.stringMatching(/^q8_0 \| 2 \| /),
      expect.stringMatching(/^q4_k \| 2 \| /),
      expect.stringMatching(/^total \| 21 \| .* \| 21 \| 118\.4 kB$/),
      '',
    ]);
    const { metadata } = await readGguf(output);
    expect(metadata.get('general.file_type')).toBe(14);
    expect(metadata.get('general.quantization_version')).toBe(2);

    const args = ['--backend', 'reference', '--prompt', 'the cat', '--raw', '-n', '8', '--json'];
    const written = JSON.parse((await runCli(['generate', '-m', output, ...args])).stdout);
    const onLoad = JSON.parse((await runCli(['generate', '-m', model, '--quantize', 'q4_k', ...args])).stdout);
    expect(written.token_ids).toHaveLength(8);
    expect(onLoad.token_ids).toEqual(written.token_ids);
    expect(onLoad.record.model.fingerprint).not.toBe(written.record.model.fingerprint);
  });

  it('lets rules choose types, and replaces a file only when told to', async () => {
    const output = join(directory, 'mixed.gguf');
    await writeFile(output, 'mine');
    const args = ['quantize', model, output, '--to', 'q8_0', '--tensor', '*.1.*.v_proj.weight=q4_0'];
    const refused = await runCli(args);
    expect(refused.code).toBe(2);
    expect(refused.stderr).toMatch(/mixed\.gguf is there already\. Pass --force/);
    expect(await readFile(output, 'utf8')).toBe('mine');
    expect((await runCli([...args, '--force'])).code).toBe(0);
    const checkpoint = await openCheckpoint(output);
    const dtypeOf = (layer: number) => checkpoint.tensors.get(`model.layers.${layer}.self_attn.v_proj.weight`)!.dtype;
    expect([dtypeOf(0), dtypeOf(1)]).toEqual(['q8_0', 'q4_0']);
    await checkpoint.close();
    // Onto itself, and once more with what is rounded already.
    const itself = await runCli(['quantize', output, output, '--to', 'q4_0', '--force']);
    expect(itself.stderr).toMatch(/is a file of the model itself/);
    const again = await runCli(['quantize', output, join(directory, 'again.gguf'), '--to', 'q4_1']);
    expect(again.stderr).toMatch(/quantized already \(q8_0, q4_0\); quantizing them again adds to their error/);
  });

  it('takes the tokenizer and the template of a Hugging Face directory along', async () => {
    const output = join(directory, 'tiny.gguf');
    expect((await runCli(['quantize', tinyLlama, output, '--to', 'q8_0'])).code).toBe(0);
    const args = ['--backend', 'reference', '--prompt', 'the cat', '-n', '6', '--json'];
    const written = JSON.parse((await runCli(['generate', '-m', output, ...args])).stdout);
    const onLoad = JSON.parse((await runCli(['generate', '-m', tinyLlama, '--quantize', 'q8_0', ...args])).stdout);
    expect(written.prompt_token_ids.length).toBeGreaterThan(10);
    expect(written.prompt_token_ids).toEqual(onLoad.prompt_token_ids);
    expect(written.token_ids).toEqual(onLoad.token_ids);
  });

  it('writes a Hugging Face directory of plain floats', async () => {
    const output = join(directory, 'folder');
    const { code, stderr } = await runCli(['quantize', model, output, '--to', 'bf16']);
    expect(code).toBe(0);
    expect(stderr).toMatch(/none is made of a GGUF tokenizer: the directory will have none/);
    const checkpoint = await openCheckpoint(output);
    expect(new Set([...checkpoint.tensors.values()].map(({ dtype }) => dtype))).toEqual(new Set(['bf16']));
    expect(checkpoint.config.torch_dtype).toBe('bfloat16');
    await checkpoint.close();
  });

  it.each([
    [['out', '--to', 'q4_0'], /A Hugging Face directory cannot hold q4_0: safetensors has no quantized types/],
    [['out', '--to', 'f16', '--tensor', '*=f32'], /--tensor is for GGUF files/],
    [['out.gguf', '--to', 'q4_k_m'], /--to takes one of f32, .*iq4_xs, got "q4_k_m"/],
    [['out.gguf', '--to', 'q4_0', '--tensor', 'q8_0'], /--tensor takes PATTERN=TYPE/],
    [['out.gguf', '--to', 'q4_0', '--tensor', '*.bias=q8_0'], /pattern "\*\.bias" fits no weight/],
    [['out/q4.gguf', '--to', 'q4_0'], /would lie in .*out, which is not a directory\. Make it first/],
    [['model.gguf/out', '--to', 'f16'], /would lie in .*model\.gguf, which is not a directory/],
    [['out.gguf'], /required option '--to <type>' not specified/],
  ])('refuses %j', async ([output, ...flags], message) => {
    const { code, stderr } = await runCli(['quantize', model, join(directory, output!), ...flags]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect((await readdir(directory)).filter((name) => name.startsWith('out'))).toEqual([]);
  });
});
