import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tinyLlama } from './__fixtures__/run-cli.ts';
import { inspectModel } from './inspection.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-inspection-'));
});
afterAll(() => rm(directory, { recursive: true }));

/** Whether a copy of the tiny Llama with one of its files changed is said to run. */
async function runs(file: string, change: (text: string) => string, encoding: 'utf8' | 'latin1' = 'utf8') {
  const path = await mkdtemp(join(directory, 'changed-'));
  await cp(tinyLlama, path, { recursive: true });
  await writeFile(join(path, file), change(await readFile(join(path, file), encoding)), encoding);
  return (await inspectModel(path, new AbortController().signal)).runs;
}

const withConfig = (change: Record<string, unknown>) => (text: string) => {
  return JSON.stringify({ ...JSON.parse(text), ...change });
};

// What loading refuses must not be called a model that runs.
describe('whether a model runs here', () => {
  it.each<[string, Record<string, unknown>, RegExp]>([
    ['a tensor is missing', { num_hidden_layers: 3 }, /^The tensors do not fit the config: 9 missing/],
    ['a tensor has another shape', { head_dim: 32 }, /^The tensors do not fit the config: .* of another shape/],
    ['the architecture is unknown', { architectures: ['Mamba'] }, /^The architecture Mamba is not supported/],
  ])('is denied when %s', async (_, config, reason) => {
    expect(await runs('config.json', withConfig(config))).toMatch(reason);
  });

  it('is denied when weights have a type that is not computed with', async () => {
    // I32 is as large as F32, so that the offsets still fit.
    const withIntegers = (text: string) => text.replace('"F32"', '"I32"');
    expect(await runs('model.safetensors', withIntegers, 'latin1')).toMatch(
      /has the type i32, which Hearth does not compute with/,
    );
  });

  it('is denied when the tokenizer cannot be read', async () => {
    expect(await runs('tokenizer.json', () => '{}')).toMatch(/^model must be an object, but it is absent/);
  });

  it('is granted otherwise', async () => {
    expect(await runs('config.json', withConfig({}))).toBe(true);
  });
});
