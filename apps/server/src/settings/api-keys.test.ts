import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readApiKeys } from './api-keys.ts';

let directory: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-keys-'));
});

afterAll(() => rm(directory, { recursive: true }));

async function fileOf(text: string): Promise<string> {
  const path = join(directory, 'keys');
  await writeFile(path, text);
  return path;
}

it('takes the keys of a file and of the environment, each once', async () => {
  const path = await fileOf('\ufeff# for the team\nsk-one\r\n\n  sk-two  \n');
  expect(await readApiKeys(path, { HEARTH_API_KEYS: 'sk-three, sk-one' })).toEqual(['sk-one', 'sk-two', 'sk-three']);
  expect(await readApiKeys(undefined, { HEARTH_API_KEYS: 'sk-three' })).toEqual(['sk-three']);
});

it('needs none where neither is given', async () => {
  expect(await readApiKeys(undefined, {})).toEqual([]);
  expect(await readApiKeys(undefined, { HEARTH_API_KEYS: '' })).toEqual([]);
});

it.each<[string | undefined, string, RegExp]>([
  ['# nothing\n\n', '', /holds no API key/],
  [undefined, ' , ', /HEARTH_API_KEYS holds no key/],
  ['sk one\n', '', /blanks or characters outside ASCII/],
  ['sk-ö\n', '', /blanks or characters outside ASCII/],
])('leaves no server open for keys that are none: %j, %j', async (text, variable, message) => {
  const path = text === undefined ? undefined : await fileOf(text);
  const refusal = readApiKeys(path, { HEARTH_API_KEYS: variable });
  await expect(refusal).rejects.toMatchObject({ code: 'usage', message: expect.stringMatching(message) });
  await expect(refusal).rejects.not.toThrow(/sk/);
});

it('says which file cannot be read', async () => {
  await expect(readApiKeys(join(directory, 'gone'), {})).rejects.toThrow(/--api-key-file cannot be read: ENOENT/);
});
