import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A directory that goes away after the tests of the file; its name has a blank and letters outside ASCII, like a user's may. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth chéckpoint 雪 '));
  afterAll(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** Writes a file into the directory and gives its path. */
export async function putFile(directory: string, name: string, contents: Uint8Array | string): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, contents);
  return path;
}
