import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { InvalidArgumentError } from '@hearth/core';
import { expect, test } from 'vitest';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { ModelNotFoundError } from './errors.ts';
import { settingsOf } from './settings.ts';
import { parseModelSpec } from './spec.ts';

async function parser() {
  const directory = await temporaryDirectory();
  const settings = await settingsOf(isolatedOptions(directory));
  return { directory, parse: (spec: string) => parseModelSpec(spec, settings) };
}

test.each(['smollm2:135m', 'smollm2', 'SmolLM2:135M'])('%s is a catalogue name', async (spec) => {
  const { parse } = await parser();
  expect(parse(spec)).toMatchObject({ type: 'catalogue', entry: { name: 'smollm2:135m' } });
});

const commit = 'a'.repeat(40);

test.each([
  ['org/name', 'org/name', undefined, undefined],
  ['org/name-1.5_B', 'org/name-1.5_B', undefined, undefined],
  ['org/name@v1.0', 'org/name', 'v1.0', undefined],
  ['org/name@refs/pr/3:Q4_0', 'org/name', 'refs/pr/3', 'Q4_0'],
  [`org/name@${commit}`, 'org/name', commit, undefined],
  ['org/name:Q4_K_M', 'org/name', undefined, 'Q4_K_M'],
  ['org/name:sub/model file.gguf', 'org/name', undefined, 'sub/model file.gguf'],
  ['hf:org/name.gguf', 'org/name.gguf', undefined, undefined],
  ['hf://org/name:Q8_0', 'org/name', undefined, 'Q8_0'],
  ['https://huggingface.co/org/name/', 'org/name', undefined, undefined],
  ['https://huggingface.co/org/name/tree/v2', 'org/name', 'v2', undefined],
  ['https://huggingface.co/org/name/blob/main/m%20Q4.gguf?download=true', 'org/name', 'main', 'm Q4.gguf'],
])('%s is a repository', async (spec, repository, revision, selector) => {
  const { parse } = await parser();
  expect(parse(spec)).toEqual({ type: 'repository', repository, revision, selector });
});

// B73: letters outside ASCII, blanks, every spelling of a path.
test('paths are absolute, relative, under ~, or file URLs', async () => {
  const { directory, parse } = await parser();
  const folder = path.join(directory, 'päth with space 雪');
  const file = path.join(folder, 'mödel 😀.gguf');
  await mkdir(folder);
  await writeFile(file, 'GGUF');
  const local = { type: 'local', path: file };
  expect(parse(file)).toEqual(local);
  expect(parse('./päth with space 雪/mödel 😀.gguf')).toEqual(local);
  expect(parse('päth with space 雪/mödel 😀.gguf')).toEqual(local);
  expect(parse('päth with space 雪/../päth with space 雪/mödel 😀.gguf')).toEqual(local);
  // `isolatedOptions` makes the directory the home directory, too.
  expect(parse('~/päth with space 雪/mödel 😀.gguf')).toEqual(local);
  expect(parse(pathToFileURL(file).href)).toEqual(local);
  expect(parse('~')).toEqual({ type: 'local', path: directory });
  expect(parse('.')).toEqual({ type: 'local', path: directory });
});

test('a Windows path is a path on every system', async () => {
  const { parse } = await parser();
  for (const spec of [
    'C:\\models\\m.gguf',
    'C:/models/m.gguf',
    '\\\\?\\C:\\models\\m.gguf',
    '\\\\host\\share\\m.gguf',
  ]) {
    expect(parse(spec).type).toBe('local');
  }
});

test('what exists wins over a repository of the same name, and loses to a catalogue name', async () => {
  const { directory, parse } = await parser();
  await mkdir(path.join(directory, 'org', 'name'), { recursive: true });
  await mkdir(path.join(directory, 'smollm2'));
  await mkdir(path.join(directory, 'plain'));
  expect(parse('org/name')).toEqual({ type: 'local', path: path.join(directory, 'org', 'name') });
  expect(parse('hf:org/name')).toMatchObject({ type: 'repository' });
  expect(parse('plain')).toEqual({ type: 'local', path: path.join(directory, 'plain') });
  expect(parse('smollm2').type).toBe('catalogue');
  expect(parse('./smollm2').type).toBe('local');
});

test('what ends like a model file, or has too many parts for a repository, is a path', async () => {
  const { directory, parse } = await parser();
  expect(parse('models/m.gguf')).toEqual({ type: 'local', path: path.join(directory, 'models', 'm.gguf') });
  expect(parse('a/b/c').type).toBe('local');
});

test('an unknown word names the catalogue and the place that was looked at', async () => {
  const { directory, parse } = await parser();
  expect(() => parse('smollm3')).toThrow(ModelNotFoundError);
  expect(() => parse('smollm3')).toThrow('smollm2:135m');
  expect(() => parse('smollm3')).toThrow(path.join(directory, 'smollm3'));
});

test.each([
  '',
  '  ',
  'a\0b',
  'file://%zz',
  'hf:name',
  'hf:a/b/c/d',
  'hf:../x',
  'org/a--b',
  'org/name@a..b',
  'https://example.com/m.gguf',
])('%j is refused as a name', async (spec) => {
  const { parse } = await parser();
  expect(() => parse(spec)).toThrow(InvalidArgumentError);
});

test('a web address with a password is not quoted', async () => {
  const { parse } = await parser();
  expect(() => parse('https://user:secret@example.com/m.gguf?key=secret')).not.toThrow('secret');
});

test('without options, home and working directory are those of the process', async () => {
  const settings = await settingsOf({});
  expect(parseModelSpec('~/m.gguf', settings)).toEqual({ type: 'local', path: path.join(os.homedir(), 'm.gguf') });
  expect(parseModelSpec('./m.gguf', settings)).toEqual({ type: 'local', path: path.resolve('m.gguf') });
});
