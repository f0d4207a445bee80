import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { inspect } from 'node:util';
import { InvalidArgumentError } from '@hearth/core';
import { expect, test } from 'vitest';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { settingsOf } from './settings.ts';

test('the token comes from the option, HF_TOKEN, or the token file, in this order', async () => {
  const home = await temporaryDirectory();
  await mkdir(path.join(home, '.cache', 'huggingface'), { recursive: true });
  await writeFile(path.join(home, '.cache', 'huggingface', 'token'), 'hf_file\n');
  await writeFile(path.join(home, 'named'), 'hf_named');
  const tokenOf = async (env: Record<string, string>, token?: string) =>
    (await settingsOf({ env: { HOME: home, USERPROFILE: home, ...env }, ...(token ? { token } : {}) })).token;
  expect(await tokenOf({})).toBe('hf_file');
  expect(await tokenOf({ HF_TOKEN_PATH: '~/named' })).toBe('hf_named');
  expect(await tokenOf({ HF_HOME: path.join(home, 'nowhere') })).toBeUndefined();
  expect(await tokenOf({ HF_TOKEN: ' hf_variable\n' })).toBe('hf_variable');
  expect(await tokenOf({ HF_TOKEN: 'hf_variable' }, 'hf_option')).toBe('hf_option');
});

test('a token that cannot be sent is refused without being shown', async () => {
  const failure = await settingsOf({ env: { HF_TOKEN: 'hf_secret\nX-Evil: 1' } }).catch((error) => error);
  expect(failure).toBeInstanceOf(InvalidArgumentError);
  expect(inspect(failure)).not.toContain('hf_secret');
});

test.each([
  [{}, false],
  [{ HEARTH_OFFLINE: '1' }, true],
  [{ HF_HUB_OFFLINE: 'true' }, true],
  [{ HEARTH_OFFLINE: '0' }, false],
])('with %j offline is %s', async (env, expected) => {
  expect((await settingsOf({ env: env as Record<string, string> })).offline).toBe(expected);
});

test('the offline option wins over the environment', async () => {
  expect((await settingsOf({ offline: false, env: { HEARTH_OFFLINE: '1' } })).offline).toBe(false);
});

test('the endpoint is a bare http(s) address', async () => {
  expect((await settingsOf({ env: {} })).endpoint).toBe('https://huggingface.co');
  expect((await settingsOf({ env: { HF_ENDPOINT: 'https://mirror.example/hf/' } })).endpoint).toBe(
    'https://mirror.example/hf',
  );
  for (const endpoint of ['mirror.example', 'ftp://mirror.example', 'https://user:secret@mirror.example']) {
    const failure = await settingsOf({ env: { HF_ENDPOINT: endpoint } }).catch((error) => error);
    expect(failure).toBeInstanceOf(InvalidArgumentError);
    expect(inspect(failure)).not.toContain('secret');
  }
});
