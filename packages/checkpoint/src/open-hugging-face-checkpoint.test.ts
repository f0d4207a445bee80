import { execFile } from 'node:child_process';
import { cp, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { AbortError, type HearthError, InvalidArgumentError, InvalidModelError, UnsupportedError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { counting, f32 } from './__fixtures__/gguf-bytes.ts';
import { safetensorsBytes } from './__fixtures__/safetensors-bytes.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import type { Checkpoint } from './checkpoint.ts';
import { openCheckpoint } from './open-checkpoint.ts';
import { gptqTensors, madeUpCodes, plainValues } from './prequantized/__fixtures__/int4-tensors.ts';
import { writeShardedSafetensors } from './safetensors/write-shards.ts';
import { readTensor } from './tensor/read-tensor.ts';
import { weightSource } from './tensor/weight-source.ts';

const root = await temporaryDirectory();
let count = 0;

type Files = Readonly<Record<string, string | Uint8Array | undefined>>;

const tensorEntry = (shape: number[], begin: number) => ({
  dtype: 'F32',
  shape,
  data_offsets: [begin, begin + 4 * shape.reduce((product, dim) => product * dim, 1)],
});
const first = safetensorsBytes({ 'a.weight': tensorEntry([2, 3], 0) }, counting(6));
const second = safetensorsBytes({ 'b.weight': tensorEntry([4], 0), 'c.weight': tensorEntry([1], 16) }, counting(5, 10));
const both = safetensorsBytes(
  { 'a.weight': tensorEntry([2, 3], 0), 'b.weight': tensorEntry([4], 24), 'c.weight': tensorEntry([1], 40) },
  counting(11),
);
const [shard1, shard2] = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors'];
const goodMap = { 'a.weight': shard1, 'b.weight': shard2, 'c.weight': shard2 };
const index = (weightMap: unknown) => JSON.stringify({ metadata: { total_size: 1 }, weight_map: weightMap });

const singleFile: Files = {
  'config.json': '{"model_type":"llama"}',
  'tokenizer.json': '{}',
  'model.safetensors': both,
};
const sharded: Files = {
  'config.json': '{}',
  'tokenizer.json': '{}',
  'model.safetensors.index.json': index(goodMap),
  [shard1]: first,
  [shard2]: second,
};

async function directoryWith(files: Files): Promise<string> {
  const directory = join(root, `modèle ${count++}`);
  await mkdir(directory);
  for (const [name, contents] of Object.entries(files)) {
    if (contents !== undefined) await writeFile(join(directory, name), contents);
  }
  return directory;
}

const open = async (files: Files): Promise<Checkpoint> => openCheckpoint(await directoryWith(files));

async function expectRefusal(
  files: Files,
  message: RegExp,
  type: typeof InvalidModelError | typeof UnsupportedError = InvalidModelError,
): Promise<void> {
  const error = await open(files).then(
    () => expect.fail('the directory was opened'),
    (reason: unknown) => reason as HearthError,
  );
  expect(error).toBeInstanceOf(type);
  expect(error.message).toMatch(message);
}

describe('a Hugging Face directory', () => {
  it('opens with one file', async () => {
    const checkpoint = await open(singleFile);
    expect(checkpoint.format).toBe('safetensors');
    expect(checkpoint.name).toMatch(/^modèle \d+$/);
    expect(checkpoint.config).toEqual({ model_type: 'llama' });
    expect([...checkpoint.tensors.keys()]).toEqual(['a.weight', 'b.weight', 'c.weight']);
    expect(checkpoint.tokenizer).toEqual({ kind: 'tokenizer-json', json: new Uint8Array(Buffer.from('{}')) });
    expect(checkpoint.chatTemplate).toEqual({});
    expect(checkpoint.warnings).toEqual([]);
    expect(checkpoint.sizeBytes).toBe(both.length);
    expect([...(await readTensor(checkpoint.tensors.get('b.weight')!))]).toEqual([6, 7, 8, 9]);
    await checkpoint.close();
    await checkpoint.close();
    await expect(readTensor(checkpoint.tensors.get('b.weight')!)).rejects.toThrow(/disposed/);
  });

  it('opens with shards', async () => {
    const checkpoint = await open(sharded);
    expect([...checkpoint.tensors.keys()].sort()).toEqual(['a.weight', 'b.weight', 'c.weight']);
    expect([...(await readTensor(checkpoint.tensors.get('a.weight')!))]).toEqual([0, 1, 2, 3, 4, 5]);
    expect([...(await readTensor(checkpoint.tensors.get('c.weight')!))]).toEqual([14]);
    expect(checkpoint.sizeBytes).toBe(first.length + second.length);
    await checkpoint.close();
  });

  it('opens whatever total_size the index has: the shards say what they hold', async () => {
    for (const metadata of [
      undefined,
      {},
      { total_size: 0 },
      { total_size: -5 },
      { total_size: '44' },
      { total_size: 1e30 },
    ]) {
      const text = JSON.stringify({ metadata, weight_map: goodMap });
      const checkpoint = await open({ ...sharded, 'model.safetensors.index.json': text });
      expect(checkpoint.tensors.size).toBe(3);
      expect(checkpoint.sizeBytes).toBe(first.length + second.length);
      await checkpoint.close();
    }
  });

  it('puts a quantized matrix together from members in several shards', async () => {
    const module = 'model.layers.0.mlp.up_proj';
    const members = gptqTensors(module, madeUpCodes(16, 64, 32));
    const quantization_config = { quant_method: 'gptq', bits: 4, group_size: 32 };
    const directory = await directoryWith({ 'config.json': JSON.stringify({ quantization_config }) });
    const names = await writeShardedSafetensors(directory, members, { maxShardBytes: 1 });
    expect(names).toHaveLength(4);
    const checkpoint = await openCheckpoint(directory);
    expect([...checkpoint.tensors.keys()]).toEqual([`${module}.weight`]);
    const values = await readTensor(checkpoint.tensors.get(`${module}.weight`)!);
    expect([...values]).toEqual([...plainValues(madeUpCodes(16, 64, 32))].map((value) => value + 0));
    await checkpoint.close();

    await rm(join(directory, names[2]!));
    await expect(openCheckpoint(directory)).rejects.toThrow(/model-00003-of-00004\.safetensors is missing/);
  });

  it('opens through symbolic links, as the files of a download cache are', async () => {
    const target = await directoryWith(singleFile);
    const link = join(root, 'link');
    await symlink(target, link, 'dir');
    const linked = await directoryWith({ ...singleFile, 'model.safetensors': undefined });
    await symlink(join(target, 'model.safetensors'), join(linked, 'model.safetensors'));
    for (const path of [link, linked]) await (await openCheckpoint(path)).close();
  });

  it('hashes headers and config', async () => {
    const hash = async (files: Files) => {
      const checkpoint = await open(files);
      await checkpoint.close();
      return checkpoint.headerHash;
    };
    const original = await hash(singleFile);
    expect(await hash(singleFile)).toBe(original);
    expect(await hash({ ...singleFile, 'config.json': '{"model_type":"llama","rope_theta":1}' })).not.toBe(original);
    const other = safetensorsBytes({ 'd.weight': tensorEntry([11], 0) }, counting(11));
    expect(await hash({ ...singleFile, 'model.safetensors': other })).not.toBe(original);
  });

  it('hands config.json on as it is, rope_scaling in any spelling included', async () => {
    const spellings = [
      { type: 'linear', factor: 2 },
      {
        rope_type: 'llama3',
        factor: 8,
        low_freq_factor: 1,
        high_freq_factor: 4,
        original_max_position_embeddings: 128,
      },
      { type: 'linear', rope_type: 'dynamic', factor: 2 },
      { rope_type: 'spiral' },
      {},
      null,
    ];
    for (const rope_scaling of spellings) {
      const config = { rope_scaling, rope_parameters: { rope_theta: 1e4 }, head_dim: null, tie_word_embeddings: true };
      const checkpoint = await open({ ...singleFile, 'config.json': JSON.stringify(config) });
      expect(checkpoint.config).toEqual(config);
      await checkpoint.close();
    }
  });

  it('hands generation_config.json and tokenizer_config.json on', async () => {
    const checkpoint = await open({
      ...singleFile,
      'generation_config.json': '{"eos_token_id":[90,262]}',
      'tokenizer_config.json': '\ufeff{"add_bos_token":true,"chat_template":null}',
    });
    expect(checkpoint.generationConfig).toEqual({ eos_token_id: [90, 262] });
    expect(checkpoint.tokenizer).toMatchObject({ config: { add_bos_token: true } });
    expect(checkpoint.chatTemplate).toEqual({});
    await checkpoint.close();
  });

  it('finds chat templates in both places, as text and as a named list', async () => {
    const list = [
      { name: 'default', template: 'DEF' },
      { name: 'tool_use', template: 'TOOL' },
    ];
    const cases: [Files, unknown][] = [
      [{ 'chat_template.jinja': 'JINJA é' }, { jinjaFile: 'JINJA é' }],
      [
        { 'chat_template.jinja': 'J', 'tokenizer_config.json': '{"chat_template":"C"}' },
        { jinjaFile: 'J', tokenizerConfig: 'C' },
      ],
      [{ 'tokenizer_config.json': JSON.stringify({ chat_template: list }) }, { tokenizerConfig: list }],
      [{ 'tokenizer_config.json': '{}' }, {}],
    ];
    for (const [files, expected] of cases) {
      const checkpoint = await open({ ...singleFile, ...files });
      expect(checkpoint.chatTemplate).toEqual(expected);
      await checkpoint.close();
    }
  });

  it('opens without tokenizer.json, with a warning', async () => {
    const checkpoint = await open({ ...singleFile, 'tokenizer.json': undefined });
    expect(checkpoint.tokenizer).toBeNull();
    expect(checkpoint.warnings).toHaveLength(1);
    expect(checkpoint.warnings[0]).toMatch(/tokenizer\.json is missing/);
    await checkpoint.close();
  });
});

describe('a directory whose files do not fit together', () => {
  it('is refused when a shard is missing, which is named', async () => {
    await expectRefusal(
      { ...sharded, [shard2]: undefined },
      /model-00002-of-00002\.safetensors is missing.* 2 tensors/,
    );
  });

  it('is refused when a tensor is not in the shard that the index names', async () => {
    const map = { 'a.weight': shard1, 'b.weight': shard1, 'c.weight': shard2 };
    await expectRefusal(
      { ...sharded, 'model.safetensors.index.json': index(map) },
      /model-00001-of-00002\.safetensors lacks tensor "b\.weight"/,
    );
  });

  it('is refused when the index leaves tensors of a shard out', async () => {
    const map = { 'a.weight': shard1, 'c.weight': shard2 };
    await expectRefusal(
      { ...sharded, 'model.safetensors.index.json': index(map) },
      /model-00002-of-00002\.safetensors holds tensor "b\.weight", which model\.safetensors\.index\.json does not list/,
    );
  });

  it('is refused when two shards hold the same tensor', async () => {
    const same = safetensorsBytes({ 'a.weight': tensorEntry([2, 3], 0) }, counting(6));
    const map = { 'a.weight': shard1, 'b.weight': shard2 };
    await expectRefusal(
      { ...sharded, 'model.safetensors.index.json': index(map), [shard2]: same },
      /model-00002-of-00002\.safetensors lacks tensor "b\.weight"/,
    );
    await expectRefusal({ ...sharded, [shard2]: both }, /holds tensor "a\.weight", which .* does not list for it/);
  });

  it('opens a complete single file beside a stale index, with a warning', async () => {
    const checkpoint = await open({ ...singleFile, 'model.safetensors.index.json': index(goodMap) });
    expect(checkpoint.tensors.size).toBe(3);
    expect(checkpoint.warnings[0]).toMatch(/index\.json was ignored/);
    await checkpoint.close();
  });

  it('is refused when the index leads out of the directory', async () => {
    for (const shard of [
      '../x.safetensors',
      '..',
      '/etc/passwd',
      'a/b.safetensors',
      'a\\b.safetensors',
      'C:x',
      '',
      'x\u0000y',
    ]) {
      const files = { ...sharded, 'model.safetensors.index.json': index({ 'a.weight': shard }) };
      await expectRefusal(files, /"a\.weight" is in shard .*not a plain file name/);
    }
  });

  it('is refused when the index makes no sense', async () => {
    const cases: [string, RegExp][] = [
      ['{', /not valid JSON/],
      ['[]', /must hold a JSON object/],
      ['{}', /"weight_map" must be an object/],
      [index([]), /"weight_map" must be an object/],
      [index({}), /"weight_map" is empty/],
      [index({ 'a.weight': 1 }), /"a\.weight" has no shard file name/],
      [index(Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`t${i}`, `s${i}`]))), /more than 4096 shards/],
    ];
    for (const [text, message] of cases) {
      await expectRefusal({ ...sharded, 'model.safetensors.index.json': text }, message);
    }
  });

  it('is refused without config.json, or with one that is damaged', async () => {
    await expectRefusal({ ...singleFile, 'config.json': undefined }, /config\.json is missing/);
    await expectRefusal({ ...singleFile, 'config.json': '{"a":' }, /config\.json is not valid JSON/);
    await expectRefusal({ ...singleFile, 'config.json': '"text"' }, /config\.json must hold a JSON object/);
    await expectRefusal(
      { ...singleFile, 'config.json': Uint8Array.of(0x22, 0xff, 0x22) },
      /config\.json is not valid JSON/,
    );
    await expectRefusal(
      { ...singleFile, 'config.json': new Uint8Array(8 * 2 ** 20 + 1) },
      /at most 8388608 are accepted/,
    );
  });

  it('is refused for JSON files so deep that hashing or sending them would end with the stack', async () => {
    const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
    for (const name of ['config.json', 'tokenizer_config.json', 'generation_config.json']) {
      await expectRefusal({ ...singleFile, [name]: nested(100_000) }, /json is nested more than 64 levels deep/);
    }
    await (await open({ ...singleFile, 'config.json': nested(64) })).close();
    await expectRefusal({ ...singleFile, 'config.json': nested(65) }, /nested more than 64/);
  });

  it('is refused without weights, with a hint at what is there', async () => {
    const none: Files = { 'config.json': '{}' };
    await expectRefusal(none, /has neither model\.safetensors nor model\.safetensors\.index\.json\.$/);
    await expectRefusal({ ...none, 'x.gguf': 'GGUF' }, /holds x\.gguf: open that file itself/);
    await expectRefusal({ ...none, 'pytorch_model.bin': '' }, /convert it to safetensors/);
  });

  it('is refused when its weights have no tensors', async () => {
    await expectRefusal({ ...singleFile, 'model.safetensors': safetensorsBytes({}) }, /has no tensors/);
  });

  it('names the file and tensor of damaged weights', async () => {
    await expectRefusal(
      { ...singleFile, 'model.safetensors': both.subarray(0, both.length - 5) },
      /model\.safetensors: tensor "b\.weight"/,
    );
  });
});

describe('weights of other types', () => {
  it('open, and are refused by name when they are used', async () => {
    for (const [dtype, bytes] of [
      ['I32', 4],
      ['F8_E4M3', 1],
      ['BOOL', 1],
      ['F64', 8],
    ] as const) {
      const x = { dtype, shape: [2, 2], data_offsets: [0, 4 * bytes] };
      const checkpoint = await open({
        ...singleFile,
        'model.safetensors': safetensorsBytes({ x }, new Uint8Array(4 * bytes)),
      });
      const tensor = checkpoint.tensors.get('x')!;
      expect(() => weightSource(tensor, {})).toThrow(UnsupportedError);
      expect(() => weightSource(tensor, {})).toThrow(`"x" has the type ${dtype.toLowerCase()}`);
      await expect(readTensor(tensor)).rejects.toThrow(UnsupportedError);
      await checkpoint.close();
    }
  });

  it('are refused as weights when they are neither matrices nor vectors', async () => {
    const scalar = { dtype: 'F32', shape: [], data_offsets: [0, 4] };
    const checkpoint = await open({ ...singleFile, 'model.safetensors': safetensorsBytes({ scalar }, f32(3)) });
    const tensor = checkpoint.tensors.get('scalar')!;
    expect(() => weightSource(tensor, {})).toThrow(/"scalar" has the shape \[\]/);
    expect([...(await readTensor(tensor))]).toEqual([3]);
    await checkpoint.close();
  });
});

describe('openCheckpoint', () => {
  it('takes absolute and relative paths, file URLs and .safetensors files', async () => {
    const directory = await directoryWith(singleFile);
    const file = join(directory, 'model.safetensors');
    for (const path of [
      directory,
      relative(process.cwd(), directory),
      pathToFileURL(directory),
      `${pathToFileURL(file)}`,
      file,
    ]) {
      const checkpoint = await openCheckpoint(path);
      expect(checkpoint.tensors.size).toBe(3);
      expect([directory, file]).toContain(checkpoint.path);
      await checkpoint.close();
    }
  });

  it('opens a GGUF file whatever it is called', async () => {
    const directory = await directoryWith({ blob: 'GGUF' });
    await expect(openCheckpoint(join(directory, 'blob'))).rejects.toThrow(/start of a GGUF header/);
  });

  it('says what is wrong with a path', async () => {
    const directory = await directoryWith({ 'notes.txt': 'hello', short: 'x' });
    await expect(openCheckpoint('')).rejects.toThrow(InvalidArgumentError);
    await expect(openCheckpoint(join(directory, 'nothing é'))).rejects.toThrow(/There is no model at .*nothing é/);
    await expect(openCheckpoint('file://elsewhere/x')).rejects.toThrow(InvalidArgumentError);
    await expect(openCheckpoint(new URL('https://example.org/x'))).rejects.toThrow(InvalidArgumentError);
    await expect(openCheckpoint(join(directory, 'notes.txt'))).rejects.toThrow(UnsupportedError);
    await expect(openCheckpoint(join(directory, 'short'))).rejects.toThrow(UnsupportedError);
  });

  it.skipIf(process.platform === 'win32')('refuses a pipe without opening it, whatever it is called', async () => {
    const directory = await directoryWith({});
    // A mapper that opens blindly, as one may, would wait here for a writer.
    const fileMapper = { open: () => Promise.reject(new Error('It was opened.')) };
    for (const name of ['model.gguf', 'model.safetensors', 'blob']) {
      await promisify(execFile)('mkfifo', [join(directory, name)]);
      await expect(openCheckpoint(join(directory, name), { fileMapper })).rejects.toThrow(/is not a regular file/);
    }
  });

  it('refuses one of several shards, and names the directory', async () => {
    const directory = await directoryWith(sharded);
    await expect(openCheckpoint(join(directory, shard1))).rejects.toThrow(/one of several shards/);
  });

  it('stops when its signal fires', async () => {
    const directory = await directoryWith(sharded);
    await expect(openCheckpoint(directory, { signal: AbortSignal.abort('no') })).rejects.toThrow(AbortError);
  });

  it('closes what it opened when something is wrong', async () => {
    const directory = await directoryWith({ ...sharded, [shard2]: both });
    let open = 0;
    const { plainFileMapper } = await import('./io/plain-file-mapper.ts');
    const fileMapper = {
      async open(path: string) {
        const file = await plainFileMapper.open(path);
        open++;
        return {
          path: file.path,
          size: file.size,
          read: file.read.bind(file),
          close: () => file.close().then(() => void open--),
        };
      },
    };
    await expect(openCheckpoint(directory, { fileMapper })).rejects.toThrow(InvalidModelError);
    expect(open).toBe(0);
    await rm(join(directory, shard2));
    await cp(join(directory, shard1), join(directory, shard2));
    await expect(openCheckpoint(directory, { fileMapper })).rejects.toThrow(InvalidModelError);
    expect(open).toBe(0);
  });
});
