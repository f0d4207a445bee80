import { constants } from 'node:fs';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { decodeHeader } from './header.ts';
import { packedHeaderBytes } from './layout.ts';

const extension = '.packed';
/** Files that are being written have another name until they are whole; one that nobody writes to any more is litter. */
const partExtension = '.part';
const litterAgeMs = 60 * 60 * 1000;

/** A file of packed weights in a cache. */
export interface PackedFileInfo {
  readonly path: string;
  /** Path of the model that it was made from; null when the file is damaged. */
  readonly source: string | null;
  readonly sizeBytes: number;
  /** When weights were loaded from it last, or it was written. */
  readonly usedAt: Date;
}

/** The packed files of a directory, those used last first. A directory that is not there has none. */
export async function listPackedFiles(directory: string): Promise<PackedFileInfo[]> {
  const names = (await entries(directory)).filter((name) => name.endsWith(extension));
  const files = await Promise.all(names.map((name) => describe(join(directory, name))));
  return files.filter((file) => file !== undefined).sort((a, b) => b.usedAt.getTime() - a.usedAt.getTime());
}

/**
 * Deletes packed files: all, or those of one model. Models that are loaded from them keep running.
 * @param source a model's path, or a directory with models
 */
export async function removePackedFiles(directory: string, source?: string): Promise<PackedFileInfo[]> {
  const isMeant = (file: PackedFileInfo) =>
    source === undefined || file.source === source || file.source?.startsWith(source + sep) === true;
  const removed = (await listPackedFiles(directory)).filter(isMeant);
  for (const { path } of removed) await rm(path, { force: true });
  return removed;
}

/**
 * Makes a directory, for its owner alone, and those above it. Node's own recursive `mkdir` never returns where a directory that is
 * there refuses new ones with ENOENT, as /proc does.
 */
export async function makeDirectory(path: string): Promise<void> {
  if (await isDirectory(path)) return;
  if (dirname(path) !== path) await makeDirectory(dirname(path));
  await mkdir(path, { mode: 0o700 }).catch(async (error) => {
    // Another process may have been first.
    if (!(await isDirectory(path))) throw error;
  });
}

function isDirectory(path: string): Promise<boolean> {
  return stat(path).then(
    (status) => status.isDirectory(),
    () => false,
  );
}

/** A name for a file that is to become `path`. */
export function partName(path: string, token: string): string {
  return `${path}.${token}${partExtension}`;
}

/** Deletes what was used longest ago until all packed files take at most `maxBytes`, and what broken off writes have left. */
export async function makeRoom(directory: string, maxBytes: number, keep: string): Promise<void> {
  for (const name of (await entries(directory)).filter((entry) => entry.endsWith(partExtension))) {
    const path = join(directory, name);
    const status = await stat(path).catch(() => undefined);
    if (status && Date.now() - status.mtimeMs > litterAgeMs) await rm(path, { force: true });
  }
  let bytes = 0;
  const files = await listPackedFiles(directory);
  const kept = files.filter(({ path }) => path === keep);
  for (const { path, sizeBytes } of [...kept, ...files.filter((file) => file.path !== keep)]) {
    bytes += sizeBytes;
    if (bytes > maxBytes && path !== keep) await rm(path, { force: true });
  }
}

function entries(directory: string): Promise<string[]> {
  return readdir(directory).catch(() => []);
}

/** Undefined when the file has just gone, may not be read, or is no file at all. Opening a pipe must not wait for its writer. */
async function describe(path: string): Promise<PackedFileInfo | undefined> {
  // Windows has no such flag.
  const handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)).catch(() => undefined);
  if (!handle) return undefined;
  try {
    const status = await handle.stat();
    if (!status.isFile()) return undefined;
    const { size, mtime } = status;
    const page = new Uint8Array(packedHeaderBytes);
    const { bytesRead } = await handle.read(page, 0, packedHeaderBytes, 0);
    return { path, source: sourceIn(page.subarray(0, bytesRead)), sizeBytes: size, usedAt: mtime };
  } finally {
    await handle.close();
  }
}

function sourceIn(page: Uint8Array): string | null {
  try {
    return decodeHeader(page).source;
  } catch {
    return null;
  }
}

/** Whether a file system that has so much space would have as many bytes free after a file of `fileBytes` as the file takes. */
export function leavesRoom(
  fileBytes: number,
  { bavail, bsize, blocks }: { readonly bavail: number; readonly bsize: number; readonly blocks: number },
): boolean {
  // Some network file systems report no blocks at all.
  return blocks === 0 || 2 * fileBytes <= bavail * bsize;
}
