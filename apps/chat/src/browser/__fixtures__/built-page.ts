import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type PageHandler, readPageFiles } from '@hearth/server';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const vite = join(dirname(createRequire(import.meta.url).resolve('vite/package.json')), 'bin/vite.js');
let built: Promise<PageHandler> | undefined;

/** The page as it is built from its sources at this moment, once for a file of tests. */
export function builtPage(): Promise<PageHandler> {
  built ??= buildPage();
  return built;
}

async function buildPage(): Promise<PageHandler> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-page-'));
  try {
    // In a process of its own: what a test runner sets in the environment would make another page of it.
    const env = { ...process.env, NODE_ENV: 'production' };
    await promisify(execFile)(process.execPath, [vite, 'build', '--outDir', directory, '--emptyOutDir'], {
      cwd: root,
      env,
    });
    return await readPageFiles(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}
