import { mkdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { HearthError } from '@hearth/core';
import { ensureDiskSpace } from './disk-space.ts';
import { downloadFile } from './download.ts';
import { OfflineError } from './errors.ts';
import { withFileLock } from './file-lock.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import {
  type RepositoryFile,
  type RepositorySnapshot,
  readRepository,
  repositoryFileUrl,
  tokenHeaders,
} from './hugging-face.ts';
import { type CachedSnapshot, findCachedSnapshot } from './hugging-face-cache.ts';
import {
  asResolvedModel,
  isIntact,
  type ModelRecord,
  ModelStore,
  type RecordedFile,
  type StoredModel,
  storeKey,
} from './model-store.ts';
import { ProgressReporter } from './progress.ts';
import { chooseFiles, matchesSelector, type RepositoryChoice, withShards } from './repository-files.ts';
import type { ResolvedModel } from './resolved-model.ts';
import type { Settings } from './settings.ts';
import type { ModelSpec } from './spec.ts';
import { verifyFile } from './verify-file.ts';

/** An index maps each tensor to a file; 100,000 tensors are about 10 MB. */
const MAX_INDEX_BYTES = 64 * 1024 * 1024;

/** Larger than any single file of a model (the hub itself allows 500 GB). */
const MAX_FILE_BYTES = 500e9;

/** A model of a Hugging Face repository on its way into the cache. */
export class RepositoryModel {
  readonly #repository: string;
  readonly #revision: string;
  readonly #selector: string | undefined;
  readonly #settings: Settings;
  readonly #store: ModelStore;
  readonly #progress: ProgressReporter;

  constructor(spec: Extract<ModelSpec, { type: 'repository' }>, settings: Settings) {
    this.#repository = spec.repository;
    this.#revision = spec.revision ?? 'main';
    this.#selector = spec.selector;
    this.#settings = settings;
    this.#store = new ModelStore(settings.cacheDirectory);
    this.#progress = new ProgressReporter(settings.onProgress);
  }

  /** What the caches hold for this spec, without asking the network whether the branch has moved. */
  async find(): Promise<ResolvedModel | undefined> {
    const candidates = (await this.#store.list()).filter(({ record }) => this.#answers(record));
    candidates.sort((a, b) => (a.record.updatedAt < b.record.updatedAt ? 1 : -1));
    for (const candidate of candidates) {
      if (await isIntact(candidate)) return asResolvedModel(candidate);
    }
    const snapshot = await findCachedSnapshot(this.#repository, this.#revision, this.#settings);
    return snapshot && this.#useShared(snapshot);
  }

  /**
   * Asks the hub for the revision and fetches what is missing of it.
   * @throws OfflineError, ModelNotFoundError, AccessDeniedError, DownloadError, ChecksumError, DiskFullError, AbortError
   */
  async pull(): Promise<ResolvedModel> {
    const settings = this.#settings;
    if (settings.offline) {
      const found = await this.find();
      if (found) return found;
      throw new OfflineError(
        `${this.#shown} is neither in the cache ${settings.cacheDirectory} nor in the Hugging Face cache, and the network is switched off (HEARTH_OFFLINE, HF_HUB_OFFLINE or the offline option). Switch it on once and pull the model.`,
      );
    }
    const http = await createHttpClient(settings);
    try {
      const signal = settings.signal ?? new AbortController().signal;
      const snapshot = await readRepository(this.#repository, this.#revision, settings, http, signal);
      const choice = chooseFiles(snapshot, this.#selector);
      return (await this.#findShared(snapshot, choice)) ?? (await this.#fetch(snapshot, choice, http));
    } finally {
      await http.close();
    }
  }

  #answers({ repository, commit, requests, entry }: ModelRecord): boolean {
    if (repository !== this.#repository) return false;
    const isRevision = commit === this.#revision || requests?.some(({ revision }) => revision === this.#revision);
    // At one commit the same selector always means the same file.
    const selector = this.#selector ?? null;
    const isSelected = requests?.some((known) => known.selector === selector);
    const isNamed = entry !== undefined && selector !== null && matchesSelector(entry, selector);
    return isRevision === true && (isSelected === true || isNamed);
  }

  /** A complete model in the cache of another tool, as far as can be told from that cache alone. */
  async #useShared(snapshot: CachedSnapshot): Promise<ResolvedModel | undefined> {
    try {
      const choice = chooseFiles(snapshot, this.#selector);
      const files = choice.index ? withShards(choice, snapshot, await readIndex(snapshot, choice.index)) : choice.files;
      return sharedModel(snapshot, choice, files);
    } catch (error) {
      // Only some of the files were fetched there: as good as not cached.
      if (HearthError.isInstance(error)) return undefined;
      throw error;
    }
  }

  /** The chosen files in the cache of another tool, if all are there in the sizes that the hub states. */
  async #findShared(snapshot: RepositorySnapshot, choice: RepositoryChoice): Promise<ResolvedModel | undefined> {
    const cached = await findCachedSnapshot(this.#repository, snapshot.commit, this.#settings);
    if (!cached) return undefined;
    const sizes = new Map(cached.files.map((file) => [file.path, file.sizeBytes]));
    const isThere = (file: RepositoryFile) => sizes.get(file.path) === file.sizeBytes;
    if (!choice.files.every(isThere)) return undefined;
    const files = choice.index ? withShards(choice, snapshot, await readIndex(cached, choice.index)) : choice.files;
    return files.every(isThere) ? sharedModel(cached, choice, files) : undefined;
  }

  async #fetch(snapshot: RepositorySnapshot, choice: RepositoryChoice, http: HttpClient): Promise<ResolvedModel> {
    const key = storeKey(this.#repository, snapshot.commit, ...(choice.entry ? [choice.entry] : []));
    const onWait = () =>
      this.#progress.update({
        phase: 'wait',
        file: this.#shown,
        source: 'another process that fetches the same model',
        completedBytes: 0,
        totalBytes: undefined,
      });
    const { signal } = this.#settings;
    return withFileLock(this.#store.lockPathOf(key), { signal, onWait }, async (lockSignal) => {
      const known = await this.#store.read(key);
      if (known && (await isIntact(known))) {
        return asResolvedModel(await this.#remember(key, snapshot, choice, known.record.files, known));
      }
      await this.#store.write(key, this.#record(snapshot, choice, false, [], known));
      const directory = this.#store.directoryOf(key);
      const fetched = await this.#fetchFiles(snapshot, choice, directory, http, lockSignal);
      return asResolvedModel(await this.#remember(key, snapshot, choice, fetched, known));
    });
  }

  async #fetchFiles(
    snapshot: RepositorySnapshot,
    choice: RepositoryChoice,
    directory: string,
    http: HttpClient,
    signal: AbortSignal,
  ): Promise<RecordedFile[]> {
    let files = choice.files;
    const recorded: RecordedFile[] = [];
    const transfer = { directory, http, signal, snapshot };
    if (choice.index) {
      const { index } = choice;
      recorded.push(await this.#fetchFile(index, transfer, 0, index.sizeBytes));
      files = withShards(choice, snapshot, await readIndex({ directory }, index));
    }
    const totalBytes = files.reduce((sum, file) => sum + file.sizeBytes, 0);
    const present = await Promise.all(files.map((file) => sizeOnDisk(pathIn(directory, file.path))));
    await ensureDiskSpace(directory, totalBytes - present.reduce((sum, size) => sum + size, 0));
    let completed = 0;
    for (const file of files) {
      const done = recorded.find((known) => known.path === file.path);
      if (!done) recorded.push(await this.#fetchFile(file, transfer, completed, totalBytes));
      completed += file.sizeBytes;
    }
    return recorded;
  }

  async #fetchFile(
    file: RepositoryFile,
    {
      directory,
      http,
      signal,
      snapshot,
    }: { directory: string; http: HttpClient; signal: AbortSignal; snapshot: RepositorySnapshot },
    bytesBefore: number,
    totalBytes: number,
  ): Promise<RecordedFile> {
    const { endpoint } = this.#settings;
    const destination = pathIn(directory, file.path);
    await mkdir(path.dirname(destination), { recursive: true });
    const report = (phase: 'download' | 'verify', completedBytes: number) =>
      this.#progress.update({
        phase,
        file: file.path,
        source: `${endpoint}/${this.#repository}`,
        completedBytes: bytesBefore + completedBytes,
        totalBytes,
      });
    // Files that were finished before an interruption; without a checksum they are not believed.
    if (file.digests.length > 0) {
      const verified = await verifyFile(destination, file, signal, (bytes) => report('verify', bytes));
      if (verified) return { path: file.path, ...verified };
    }
    const { sha256, sizeBytes } = await downloadFile(
      {
        url: repositoryFileUrl(endpoint, this.#repository, snapshot.commit, file.path),
        headers: tokenHeaders(this.#settings),
        destination,
        sizeBytes: file.sizeBytes,
        maxBytes: MAX_FILE_BYTES,
        digests: file.digests,
      },
      {
        http,
        retry: this.#settings.retry,
        timeouts: this.#settings.timeouts,
        signal,
        onBytes: (completedBytes) => report('download', completedBytes),
      },
    );
    const { mtimeMs } = await stat(destination);
    return { path: file.path, sizeBytes, modifiedMs: mtimeMs, sha256 };
  }

  #remember(
    key: string,
    snapshot: RepositorySnapshot,
    choice: RepositoryChoice,
    files: RecordedFile[],
    known: StoredModel | undefined,
  ): Promise<StoredModel> {
    return this.#store.write(key, this.#record(snapshot, choice, true, files, known));
  }

  #record(
    { commit }: RepositorySnapshot,
    { kind, entry }: RepositoryChoice,
    complete: boolean,
    files: RecordedFile[],
    known: StoredModel | undefined,
  ): ModelRecord {
    const request = { revision: this.#revision, selector: this.#selector ?? null };
    const earlier = (known?.record.requests ?? []).filter(
      ({ revision, selector }) => revision !== request.revision || selector !== request.selector,
    );
    return {
      format: 1,
      name: nameOf(this.#repository, entry),
      kind,
      source: { type: 'hugging-face', location: `${this.#settings.endpoint}/${this.#repository}` },
      complete,
      updatedAt: new Date().toISOString(),
      ...(entry === undefined ? {} : { entry }),
      files,
      repository: this.#repository,
      commit,
      requests: [...earlier, request],
    };
  }

  get #shown(): string {
    const revision = this.#revision === 'main' ? '' : `@${this.#revision}`;
    return `${this.#repository}${revision}${this.#selector === undefined ? '' : `:${this.#selector}`}`;
  }
}

function sharedModel(
  { commit, directory, repository }: CachedSnapshot,
  { kind, entry }: RepositoryChoice,
  files: readonly RepositoryFile[],
): ResolvedModel {
  const location = entry === undefined ? directory : pathIn(directory, entry);
  return {
    kind,
    path: location,
    name: nameOf(repository, entry),
    source: { type: 'hugging-face-cache', location },
    revision: commit,
    sizeBytes: files.reduce((sum, file) => sum + file.sizeBytes, 0),
  };
}

function nameOf(repository: string, entry: string | undefined): string {
  return entry === undefined ? repository : `${repository}:${entry}`;
}

async function readIndex({ directory }: { directory: string }, index: RepositoryFile): Promise<string> {
  if (index.sizeBytes > MAX_INDEX_BYTES) return '';
  return readFile(pathIn(directory, index.path), 'utf8');
}

function pathIn(directory: string, file: string): string {
  return path.join(directory, ...file.split('/'));
}

function sizeOnDisk(file: string): Promise<number> {
  return stat(file).then(
    ({ size }) => size,
    () => 0,
  );
}
