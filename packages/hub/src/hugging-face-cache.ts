import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { huggingFaceCacheDirectory } from './cache-directory.ts';
import type { RepositoryFile, RepositorySnapshot } from './hugging-face.ts';
import { isSafeRelativePath } from './repository-files.ts';
import type { Settings } from './settings.ts';

/** A repository as another tool left it in the Hugging Face cache. Its files are read where they lie, never changed. */
export interface CachedSnapshot extends RepositorySnapshot {
  /** `.../snapshots/COMMIT`; files are links to blobs. */
  directory: string;
}

/** Deeper folders hold no models. */
const MAX_DEPTH = 4;

/**
 * Looks a repository up in the cache of huggingface_hub (`models--ORG--NAME/refs/REVISION` and `snapshots/COMMIT`).
 * The snapshot may hold only some of the repository's files.
 */
export async function findCachedSnapshot(
  repository: string,
  revision: string,
  settings: Settings,
): Promise<CachedSnapshot | undefined> {
  const root = path.join(
    huggingFaceCacheDirectory(settings.surroundings),
    `models--${repository.replaceAll('/', '--')}`,
  );
  const commit = await commitOf(root, revision);
  if (!commit) return undefined;
  const directory = path.join(root, 'snapshots', commit);
  const files = await listFiles(directory, '', MAX_DEPTH);
  return files.length > 0 ? { repository, commit, files, directory } : undefined;
}

async function commitOf(root: string, revision: string): Promise<string | undefined> {
  if (/^[0-9a-f]{40}$/.test(revision)) return revision;
  if (!isSafeRelativePath(revision)) return undefined;
  const named = await readFile(path.join(root, 'refs', ...revision.split('/')), 'utf8').catch(() => '');
  const commit = named.trim();
  return /^[0-9a-f]{40}$/.test(commit) ? commit : undefined;
}

/** Files below a snapshot. A link whose blob is gone is left out, as if it had never been fetched. */
async function listFiles(directory: string, prefix: string, depth: number): Promise<RepositoryFile[]> {
  const names = await readdir(directory).catch(() => [] as string[]);
  const found = await Promise.all(
    names.map(async (name): Promise<RepositoryFile[]> => {
      const file = path.join(directory, name);
      const status = await stat(file).catch(() => undefined);
      if (status?.isFile()) return [{ path: prefix + name, sizeBytes: status.size, digests: [] }];
      return status?.isDirectory() && depth > 1 ? listFiles(file, `${prefix}${name}/`, depth - 1) : [];
    }),
  );
  return found.flat();
}
