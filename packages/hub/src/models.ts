import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { HearthError, InvalidArgumentError } from '@hearth/core';
import { CatalogueModel } from './catalogue-model.ts';
import { CacheError, ModelNotFoundError } from './errors.ts';
import { withFileLock } from './file-lock.ts';
import { resolveLocalModel } from './local-model.ts';
import { asResolvedModel, isIntact, ModelStore, type StoredModel } from './model-store.ts';
import { matchesSelector } from './repository-files.ts';
import { RepositoryModel } from './repository-model.ts';
import type { ResolvedModel } from './resolved-model.ts';
import { type HubOptions, type Settings, settingsOf } from './settings.ts';
import { type ModelSpec, parseModelSpec } from './spec.ts';

/** A model in Hearth's cache. */
export interface CachedModel extends ResolvedModel {
  /** False after an interrupted pull; `path` is then its directory and `sizeBytes` what has arrived. */
  complete: boolean;
  /** When it was pulled or last verified; ISO 8601. */
  updatedAt: string;
}

/**
 * Turns a spec into a model on this machine. What is cached is used without touching the network; what is not is pulled.
 * The grammar of specs is in the README and at `parseModelSpec`.
 *
 * @throws ModelNotFoundError, AccessDeniedError, OfflineError, DownloadError, ChecksumError, DiskFullError, CacheError,
 *   InvalidModelError, InvalidArgumentError, AbortError
 */
export async function resolveModel(spec: string, options: HubOptions = {}): Promise<ResolvedModel> {
  const settings = await settingsOf(options);
  const parsed = parseModelSpec(spec, settings);
  if (parsed.type === 'local') return resolveLocalModel(parsed.path, spec);
  const model = remoteModel(parsed, settings);
  return (await model.find()) ?? guarded(settings, () => model.pull());
}

/**
 * Makes sure that the newest bytes of a model are cached: a catalogue model is hashed again, a repository is asked whether
 * its branch has moved. Interrupted pulls are resumed. A local path is only looked at.
 *
 * @throws as `resolveModel`
 */
export async function pullModel(spec: string, options: HubOptions = {}): Promise<ResolvedModel> {
  const settings = await settingsOf(options);
  const parsed = parseModelSpec(spec, settings);
  if (parsed.type === 'local') return resolveLocalModel(parsed.path, spec);
  return guarded(settings, () => remoteModel(parsed, settings).pull());
}

/** Models in Hearth's cache, by name, interrupted ones included. Other tools' caches are not listed. */
export async function listModels(options: HubOptions = {}): Promise<CachedModel[]> {
  const { cacheDirectory } = await settingsOf(options);
  return Promise.all((await new ModelStore(cacheDirectory).list()).map(describe));
}

/**
 * Removes models from Hearth's cache: those of a name as `listModels` gives it, of a catalogue name, or of a repository
 * (all its revisions and files, or those that `@REVISION` and `:SELECTOR` name). Files in other tools' caches stay.
 *
 * @returns what was removed, and how many bytes that freed
 * @throws ModelNotFoundError when nothing of that name is cached, InvalidArgumentError for a local path
 */
export async function removeModel(
  spec: string,
  options: HubOptions = {},
): Promise<{ removed: CachedModel[]; freedBytes: number }> {
  const settings = await settingsOf(options);
  const store = new ModelStore(settings.cacheDirectory);
  const stored = await store.list();
  const named = stored.filter(({ record }) => record.name === spec);
  const matching = named.length > 0 ? named : stored.filter(matcherOf(parseModelSpec(spec, settings), spec));
  if (matching.length === 0) {
    throw new ModelNotFoundError(
      `The cache ${settings.cacheDirectory} holds no model '${spec}'. It holds ${namesOf(stored)}.`,
    );
  }
  const removed: CachedModel[] = [];
  let freedBytes = 0;
  await guarded(settings, async () => {
    for (const model of matching) {
      // Under the lock, so that a running download is not pulled from under its process.
      await withFileLock(store.lockPathOf(model.key), { signal: settings.signal }, async () => {
        removed.push(await describe(model));
        freedBytes += await bytesIn(model.directory);
        await store.remove(model.key);
      });
    }
  });
  return { removed, freedBytes };
}

function remoteModel(
  spec: Exclude<ModelSpec, { type: 'local' }>,
  settings: Settings,
): CatalogueModel | RepositoryModel {
  return spec.type === 'catalogue' ? new CatalogueModel(spec.entry, settings) : new RepositoryModel(spec, settings);
}

function matcherOf(spec: ModelSpec, text: string): (model: StoredModel) => boolean {
  if (spec.type === 'local') {
    throw new InvalidArgumentError(
      `'${text}' is a file or directory of yours, not a cached model; Hearth does not delete it.`,
    );
  }
  if (spec.type === 'catalogue') return ({ record }) => record.catalogueName === spec.entry.name;
  const { repository, revision, selector } = spec;
  return ({ record }) =>
    record.repository === repository &&
    (revision === undefined ||
      record.commit === revision ||
      record.requests?.some((request) => request.revision === revision) === true) &&
    (selector === undefined || (record.entry !== undefined && matchesSelector(record.entry, selector)));
}

async function describe(model: StoredModel): Promise<CachedModel> {
  const complete = await isIntact(model);
  const resolved = asResolvedModel(model);
  const { updatedAt } = model.record;
  if (complete) return { ...resolved, complete, updatedAt };
  return { ...resolved, path: model.directory, sizeBytes: await bytesIn(model.directory), complete, updatedAt };
}

function namesOf(stored: readonly StoredModel[]): string {
  return stored.length === 0 ? 'none' : stored.map(({ record }) => record.name).join(', ');
}

async function bytesIn(directory: string): Promise<number> {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => []);
  const sizes = entries.map(async (entry): Promise<number> => {
    const file = path.join(directory, entry.name);
    if (entry.isDirectory()) return bytesIn(file);
    return entry.isFile() ? (await stat(file)).size : 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Gives file system trouble below the cache directory a type and a way out. */
async function guarded<T>({ cacheDirectory }: Settings, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (!HearthError.isInstance(error) && code !== undefined && syscall !== undefined) {
      throw new CacheError(cacheDirectory, error as NodeJS.ErrnoException);
    }
    throw error;
  }
}
