import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { cacheSizes } from './cache-sizes.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'hearth-caches-'));
});
afterEach(() => rm(directory, { recursive: true }));

async function writeCache(index: number, files: Readonly<Record<string, string>>): Promise<void> {
  await mkdir(join(directory, `index${index}`));
  for (const [name, text] of Object.entries(files))
    await writeFile(join(directory, `index${index}`, name), `${text}\n`);
}

it('reads the second and third level', async () => {
  await writeCache(2, { level: '2', size: '1024K', shared_cpu_list: '0,8' });
  await writeCache(3, { level: '3', size: '32768K', shared_cpu_list: '0-3,8-11' });
  expect(await cacheSizes(directory)).toEqual({ l2Bytes: 2 ** 20, l3: { bytes: 2 ** 25, numSharers: 8 } });
});

it('takes the least there can be where nothing is said', async () => {
  expect(await cacheSizes(directory)).toEqual({ l2Bytes: 2 ** 18, l3: null });
});

it('believes no entry that it does not understand', async () => {
  await writeCache(2, { level: '1', size: '64K', shared_cpu_list: '0' });
  await writeCache(3, { level: '3', size: 'large', shared_cpu_list: '0' });
  expect(await cacheSizes(directory)).toEqual({ l2Bytes: 2 ** 18, l3: null });
});
