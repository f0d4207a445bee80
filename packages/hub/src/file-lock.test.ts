import { spawnSync } from 'node:child_process';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AbortError } from '@hearth/core';
import { expect, test } from 'vitest';
import { temporaryDirectory } from './__fixtures__/temporary-directory.ts';
import { withFileLock } from './file-lock.ts';

async function setUp() {
  const directory = await temporaryDirectory();
  return { directory, lockPath: path.join(directory, 'locks', 'model.lock') };
}

test('one holder at a time, and the lock is gone afterwards', async () => {
  const { directory, lockPath } = await setUp();
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await sleep(5);
    inside--;
  };
  await Promise.all([1, 2, 3, 4].map(() => withFileLock(lockPath, {}, work)));
  expect(most).toBe(1);
  expect(await readdir(path.join(directory, 'locks'))).toEqual([]);
});

test('an error of the work releases the lock and comes through', async () => {
  const { lockPath } = await setUp();
  await expect(withFileLock(lockPath, {}, () => Promise.reject(new Error('mine')))).rejects.toThrow('mine');
  expect(await withFileLock(lockPath, {}, async () => 'taken')).toBe('taken');
});

test('the lock of a process that is gone is taken over at once', async () => {
  const { lockPath } = await setUp();
  await withFileLock(lockPath, {}, async () => undefined);
  const { pid } = spawnSync(process.execPath, ['-e', '']);
  await writeFile(lockPath, JSON.stringify({ token: 'dead', pid, host: os.hostname() }));
  expect(await withFileLock(lockPath, {}, async () => 'taken')).toBe('taken');
});

test('a lock of another host counts until it was not touched for long', async () => {
  const { lockPath } = await setUp();
  await withFileLock(lockPath, {}, async () => undefined);
  await writeFile(lockPath, JSON.stringify({ token: 'far', pid: 1, host: 'another host' }));
  let waits = 0;
  const controller = new AbortController();
  const options = { signal: controller.signal, onWait: () => ++waits === 2 && controller.abort() };
  await expect(withFileLock(lockPath, options, async () => 'taken')).rejects.toThrow(AbortError);
  expect(waits).toBe(2);
  expect(await readFile(lockPath, 'utf8')).toContain('far');

  const longAgo = new Date(Date.now() - 60_000);
  await utimes(lockPath, longAgo, longAgo);
  expect(await withFileLock(lockPath, {}, async () => 'taken')).toBe('taken');
});

test('the signal that the work gets follows the caller', async () => {
  const { lockPath } = await setUp();
  const controller = new AbortController();
  const seen = await withFileLock(lockPath, { signal: controller.signal }, async (signal) => {
    controller.abort('why');
    return [signal.aborted, signal.reason];
  });
  expect(seen).toEqual([true, 'why']);
});
