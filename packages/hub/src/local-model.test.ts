import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { InvalidModelError } from '@hearth/core';
import { expect, test } from 'vitest';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { ModelNotFoundError } from './errors.ts';
import { resolveModel } from './models.ts';

async function setUp(files: Record<string, string>) {
  const directory = await temporaryDirectory();
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(directory, name)), { recursive: true });
    await writeFile(path.join(directory, name), text);
  }
  return { directory, resolve: (spec: string) => resolveModel(spec, isolatedOptions(directory)) };
}

// B73
test('a file is found by every spelling of its path, and messages print its name right', async () => {
  const { directory, resolve } = await setUp({ 'päth 雪/mödel 😀.gguf': 'GGUF' });
  const file = path.join(directory, 'päth 雪', 'mödel 😀.gguf');
  const expected = {
    kind: 'gguf',
    path: file,
    name: 'mödel 😀',
    source: { type: 'local', location: file },
    sizeBytes: 4,
  };
  for (const spec of [file, './päth 雪/mödel 😀.gguf', '~/päth 雪/mödel 😀.gguf', pathToFileURL(file).href]) {
    expect(await resolve(spec)).toEqual(expected);
  }
  await expect(resolve('./päth 雪/mödel.gguf')).rejects.toThrow('mödel 😀.gguf');
});

test('a directory with config.json is a model, one with a single GGUF stands for it', async () => {
  const { directory, resolve } = await setUp({
    'hf/config.json': '{}',
    'hf/model.safetensors': '12345',
    'one/m.gguf': 'GGUF',
    'two/a.gguf': 'GGUF',
    'two/b.gguf': 'GGUF',
    'none/readme.md': '',
  });
  expect(await resolve('./hf')).toMatchObject({
    kind: 'directory',
    path: path.join(directory, 'hf'),
    name: 'hf',
    sizeBytes: 7,
  });
  expect(await resolve('./one')).toMatchObject({ kind: 'gguf', path: path.join(directory, 'one', 'm.gguf') });
  await expect(resolve('./two')).rejects.toThrow('name one of them: a.gguf, b.gguf');
  await expect(resolve('./none')).rejects.toThrow(ModelNotFoundError);
});

test('a file is known by its first bytes when its name says nothing', async () => {
  const { resolve } = await setUp({ blob: 'GGUF....', other: 'x', 'hf/model.safetensors': '' });
  expect(await resolve('./blob')).toMatchObject({ kind: 'gguf', name: 'blob' });
  await expect(resolve('./other')).rejects.toThrow(InvalidModelError);
  await expect(resolve('./hf/model.safetensors')).rejects.toThrow('Name the directory instead');
});

test.skipIf(process.platform === 'win32')('a pipe is refused instead of waited for', async () => {
  const { directory, resolve } = await setUp({ 'one/readme': '' });
  for (const name of ['pipe', 'pipe.gguf', 'one/pipe.gguf']) {
    await promisify(execFile)('mkfifo', [path.join(directory, name)]);
    await expect(resolve(`./${name}`)).rejects.toThrow(/is not a regular file/);
  }
  await expect(resolve('./one')).rejects.toThrow(/pipe\.gguf is not a regular file/);
});

test('a path that is not there says how far it exists and what lies there', async () => {
  const { directory, resolve } = await setUp({ 'models/right.gguf': 'GGUF' });
  const failure = resolve('models/wrong.gguf');
  await expect(failure).rejects.toMatchObject({
    code: 'model_not_found',
    details: { path: path.join(directory, 'models', 'wrong.gguf') },
  });
  await expect(failure).rejects.toThrow(
    `There is no file or directory ${path.join(directory, 'models', 'wrong.gguf')}`,
  );
  await expect(failure).rejects.toThrow('It holds right.gguf.');
  await expect(failure).rejects.toThrow('write hf:models/wrong.gguf');
  await expect(resolve('./models/right.gguf/x')).rejects.toThrow(ModelNotFoundError);
  await expect(resolve('/no/such/place.gguf')).rejects.toThrow('/ is as far as the path exists');
});
