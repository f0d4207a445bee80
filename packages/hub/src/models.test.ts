import { spawn } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from '@hearth/core';
import { expect, test } from 'vitest';
import { sampleBytes, sha256Of } from './__fixtures__/bytes.ts';
import type { ServerMode } from './__fixtures__/file-server.ts';
import { startHubServer } from './__fixtures__/hub-server.ts';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { isolatedOptions } from './__fixtures__/test-settings.ts';
import { ModelNotFoundError } from './errors.ts';
import { withFileLock } from './file-lock.ts';
import { listModels, pullModel, removeModel, resolveModel } from './models.ts';
import type { PullProgress } from './progress.ts';

const commit = '1'.repeat(40);
const small = sampleBytes(30_000, 1);
const large = sampleBytes(600_000, 2);

async function setUp(mode: ServerMode = 'good') {
  const directory = await temporaryDirectory();
  const hub = await startHubServer({
    'org/name': { commit, refs: ['v1'], files: { 'm.Q4_0.gguf': small, 'm.Q8_0.gguf': large }, mode },
  });
  return { directory, hub, options: isolatedOptions(directory, { endpoint: hub.origin }) };
}

test('an empty cache lists nothing', async () => {
  const { options } = await setUp();
  expect(await listModels(options)).toEqual([]);
});

test('lists what is complete and what was interrupted', async () => {
  const { options } = await setUp('cut');
  const failure = pullModel('org/name:Q8_0', { ...options, retry: { attempts: 1 } });
  await expect(failure).rejects.toMatchObject({ code: 'download_failed' });
  await pullModel('org/name:Q4_0', options);
  const [first, second] = await listModels(options);
  expect(first).toMatchObject({
    name: 'org/name:m.Q4_0.gguf',
    complete: true,
    sizeBytes: small.length,
    revision: commit,
  });
  expect(second).toMatchObject({ name: 'org/name:m.Q8_0.gguf', complete: false });
  expect(second?.sizeBytes).toBeGreaterThan(0);
  expect(second?.sizeBytes).toBeLessThan(large.length);
});

test('a directory with a damaged or foreign record is no model', async () => {
  const { directory, options } = await setUp();
  const models = path.join(directory, 'cache', 'models');
  const escaping = {
    format: 1,
    name: 'x',
    kind: 'gguf',
    entry: '../../x',
    files: [],
    complete: true,
    updatedAt: '',
    source: { type: 'local', location: '' },
  };
  for (const [name, record] of Object.entries({ a: '{', b: '[]', c: JSON.stringify(escaping) })) {
    await mkdir(path.join(models, name), { recursive: true });
    await writeFile(path.join(models, name, 'hearth.json'), record);
  }
  expect(await listModels(options)).toEqual([]);
});

test.each([
  ['org/name', ['org/name:m.Q4_0.gguf', 'org/name:m.Q8_0.gguf']],
  ['org/name:Q8_0', ['org/name:m.Q8_0.gguf']],
  ['org/name:m.Q4_0.gguf', ['org/name:m.Q4_0.gguf']],
  [`org/name@${commit}:Q4_0`, ['org/name:m.Q4_0.gguf']],
])('remove %s removes %j', async (spec, names) => {
  const { directory, options } = await setUp();
  await pullModel('org/name:Q4_0', options);
  await pullModel('org/name:Q8_0', options);
  const { removed, freedBytes } = await removeModel(spec, options);
  expect(removed.map(({ name }) => name)).toEqual(names);
  expect(freedBytes).toBeGreaterThanOrEqual(removed.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0));
  expect(await readdir(path.join(directory, 'cache', 'models'))).toHaveLength(2 - names.length);
});

test('what is not cached, or belongs to the user, is not removed', async () => {
  const { directory, options } = await setUp();
  await pullModel('org/name:Q4_0', options);
  await expect(removeModel('org/other', options)).rejects.toThrow(ModelNotFoundError);
  await expect(removeModel('org/name@v9', options)).rejects.toThrow('It holds org/name:m.Q4_0.gguf');
  await writeFile(path.join(directory, 'mine.gguf'), 'GGUF');
  await expect(removeModel('./mine.gguf', options)).rejects.toThrow(InvalidArgumentError);
  expect(await readdir(directory)).toContain('mine.gguf');
});

test('two pulls of one process fetch the file once', async () => {
  const { hub, options } = await setUp();
  const [first, second] = await Promise.all([pullModel('org/name:Q8_0', options), pullModel('org/name:Q8_0', options)]);
  expect(first).toEqual(second);
  expect(hub.requests.filter(({ path: asked }) => asked.includes('/resolve/'))).toHaveLength(1);
});

test('two processes that pull the same file fetch it once, and both get it whole', async () => {
  const { directory, hub } = await setUp();
  const script = fileURLToPath(new URL('./__fixtures__/pull-process.ts', import.meta.url));
  const run = () =>
    new Promise<string>((resolve, reject) => {
      const child = spawn(process.execPath, ['--import', 'tsx', '--conditions=@hearth/source', script], {
        env: { ...process.env, HUB_TEST_DIRECTORY: directory, HUB_TEST_ENDPOINT: hub.origin },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      let output = '';
      child.stdout.on('data', (data) => {
        output += data;
      });
      child.on('error', reject);
      child.on('close', (code) => (code === 0 ? resolve(output) : reject(new Error(`exit status ${code}`))));
    });
  const paths = await Promise.all([run(), run()]);
  expect(paths[0]).toBe(paths[1]);
  expect(sha256Of(await readFile(paths[0]!.trim()))).toBe(sha256Of(large));
  expect(hub.requests.filter(({ path: asked }) => asked.includes('/resolve/'))).toHaveLength(1);
});

test('a pull that waits for another one says so', async () => {
  const { directory, options } = await setUp();
  const lockPath = path.join(directory, 'cache', 'locks', `org--name@${commit}@m.Q8_0.gguf.lock`);
  const seen: PullProgress[] = [];
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let holder: Promise<void> | undefined;
  await new Promise<void>((held) => {
    holder = withFileLock(lockPath, {}, () => {
      held();
      return released;
    });
  });
  const waiting = pullModel('org/name:Q8_0', {
    ...options,
    onProgress: (progress) => {
      seen.push(progress);
      release();
    },
  });
  await Promise.all([holder, waiting]);
  expect(seen[0]).toMatchObject({ phase: 'wait', totalBytes: undefined });
  expect(seen.at(-1)?.phase).toBe('download');
});

test('a cache that cannot be written is a typed error that names the way out', async () => {
  const { directory, options } = await setUp();
  await writeFile(path.join(directory, 'file'), '');
  const failure = resolveModel('org/name:Q4_0', { ...options, cacheDirectory: path.join(directory, 'file', 'cache') });
  await expect(failure).rejects.toMatchObject({
    code: 'cache_unusable',
    message: expect.stringContaining('HEARTH_CACHE'),
  });
});

test('a complete model in a read-only cache is used', async () => {
  const { directory, options } = await setUp();
  const resolved = await pullModel('org/name:Q4_0', options);
  const cache = path.join(directory, 'cache');
  await chmod(cache, 0o555);
  await chmod(path.join(cache, 'models'), 0o555);
  try {
    expect(await resolveModel('org/name:Q4_0', { ...options, offline: true })).toEqual(resolved);
  } finally {
    await chmod(cache, 0o755);
    await chmod(path.join(cache, 'models'), 0o755);
  }
});
