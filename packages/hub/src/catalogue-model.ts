import { stat } from 'node:fs/promises';
import path from 'node:path';
import { AbortError, HearthError } from '@hearth/core';
import type { CatalogueEntry } from './catalogue.ts';
import { describeSource, fetchFromSource } from './catalogue-source.ts';
import type { Digest } from './digest.ts';
import { DiskFullError, DownloadError, OfflineError } from './errors.ts';
import { withFileLock } from './file-lock.ts';
import { formatBytes } from './format.ts';
import { findCachedSnapshot } from './hugging-face-cache.ts';
import {
  asResolvedModel,
  isIntact,
  type ModelRecord,
  ModelStore,
  type StoredModel,
  storedFilePath,
  storeKey,
} from './model-store.ts';
import { ProgressReporter } from './progress.ts';
import { isSafeRelativePath } from './repository-files.ts';
import type { ModelSource, ResolvedModel } from './resolved-model.ts';
import type { Settings } from './settings.ts';
import type { FileTarget, SourceContext } from './source.ts';
import { type VerifiedFile, verifyFile } from './verify-file.ts';

/** One catalogue model on its way into the cache. */
export class CatalogueModel {
  readonly #entry: CatalogueEntry;
  readonly #settings: Settings;
  readonly #store: ModelStore;
  readonly #key: string;
  readonly #progress: ProgressReporter;
  readonly #digests: Digest[];

  constructor(entry: CatalogueEntry, settings: Settings) {
    this.#entry = entry;
    this.#settings = settings;
    this.#store = new ModelStore(settings.cacheDirectory);
    // The checksum is part of the key: a catalogue that names other bytes under the same name gets another directory.
    this.#key = storeKey(entry.name.replaceAll(':', '-'), entry.sha256.slice(0, 12));
    this.#progress = new ProgressReporter(settings.onProgress);
    this.#digests = [{ algorithm: 'sha256', hex: entry.sha256 }];
  }

  /** The cached model if its file is as it was when it was verified; no hashing. */
  async find(): Promise<ResolvedModel | undefined> {
    const stored = await this.#store.read(this.#key);
    return stored && (await isIntact(stored)) ? asResolvedModel(stored) : undefined;
  }

  /**
   * Hashes what is there, and fetches the model from the first source that gives the right bytes.
   * @throws OfflineError, DownloadError with one line per source, DiskFullError, AbortError
   */
  async pull(): Promise<ResolvedModel> {
    const { signal } = this.#settings;
    const onWait = () =>
      this.#progress.update({
        phase: 'wait',
        file: this.#entry.fileName,
        source: 'another process that fetches the same model',
        completedBytes: 0,
        totalBytes: undefined,
      });
    return withFileLock(this.#store.lockPathOf(this.#key), { signal, onWait }, async (lockSignal) => {
      const stored = (await this.#verifyStored(lockSignal)) ?? (await this.#verifyShared(lockSignal));
      return asResolvedModel(stored ?? (await this.#fetch(lockSignal)));
    });
  }

  /** What an earlier pull left: here, or in the cache that its record names. */
  async #verifyStored(signal: AbortSignal): Promise<StoredModel | undefined> {
    const { fileName } = this.#entry;
    const known = await this.#store.read(this.#key);
    const directory = this.#store.directoryOf(this.#key);
    const file = known?.record.complete
      ? storedFilePath(known, known.record.entry ?? fileName)
      : path.join(directory, fileName);
    const verified = await this.#verify(file, 'cache', signal);
    if (!verified) return undefined;
    const source = known?.record.source ?? { type: 'local', location: file };
    return this.#remember(verified, source, known?.record);
  }

  /** The same file in the cache of another Hugging Face tool; it is used where it lies. */
  async #verifyShared(signal: AbortSignal): Promise<StoredModel | undefined> {
    for (const source of this.#entry.sources) {
      if (source.type !== 'hugging-face') continue;
      const snapshot = await findCachedSnapshot(source.repository, source.revision, this.#settings);
      if (!snapshot || !isSafeRelativePath(source.file)) continue;
      const file = path.join(snapshot.directory, ...source.file.split('/'));
      const verified = await this.#verify(file, 'Hugging Face cache', signal);
      if (!verified) continue;
      const { commit, directory } = snapshot;
      return this.#remember(
        verified,
        { type: 'hugging-face-cache', location: file },
        { commit, directory, entry: source.file },
      );
    }
    return undefined;
  }

  #verify(file: string, source: string, signal: AbortSignal): Promise<VerifiedFile | undefined> {
    const { fileName, sizeBytes } = this.#entry;
    return verifyFile(file, { sizeBytes, digests: this.#digests }, signal, (completedBytes) =>
      this.#progress.update({ phase: 'verify', file: fileName, source, completedBytes, totalBytes: sizeBytes }),
    );
  }

  async #fetch(signal: AbortSignal): Promise<StoredModel> {
    const { name, fileName, sizeBytes, sha256, sources } = this.#entry;
    if (this.#settings.offline) {
      throw new OfflineError(
        `${name} is not in the cache ${this.#settings.cacheDirectory}, and the network is switched off (HEARTH_OFFLINE, HF_HUB_OFFLINE or the offline option). Switch it on once and pull the model.`,
      );
    }
    const target: FileTarget = { path: path.join(this.#store.directoryOf(this.#key), fileName), sizeBytes, sha256 };
    const context: SourceContext = { settings: this.#settings, signal, progress: this.#progress };
    const failures: { source: string; error: HearthError }[] = [];
    for (const source of sources) {
      const location = describeSource(source, this.#settings);
      await this.#store.write(this.#key, this.#record({ complete: false, source: { type: source.type, location } }));
      try {
        const origin = await fetchFromSource(source, target, context);
        await this.#store.keepOnly(this.#key, fileName);
        const { mtimeMs } = await stat(target.path);
        return await this.#remember({ sizeBytes, modifiedMs: mtimeMs, sha256 }, origin.source, {
          commit: origin.commit,
        });
      } catch (error) {
        // A full disk is full for every source.
        const isFinal = !HearthError.isInstance(error) || error instanceof AbortError || error instanceof DiskFullError;
        if (isFinal || signal.aborted) throw error;
        failures.push({ source: location, error });
        this.#warn(failures.at(-1)!, failures.length < sources.length);
      }
    }
    throw this.#noSourceLeft(failures);
  }

  #warn({ source, error }: { source: string; error: HearthError }, isAnotherLeft: boolean): void {
    if (!isAnotherLeft) return;
    const message = `${source} did not give ${this.#entry.name}: ${error.message} The next source is tried.`;
    this.#settings.onWarning({ source, message, error });
  }

  #noSourceLeft(failures: readonly { source: string; error: HearthError }[]): DownloadError {
    const { name, fileName, sizeBytes, sha256 } = this.#entry;
    const lines = failures.map(({ source, error }) => `  - ${source}: ${error.message}`);
    return new DownloadError(
      [
        `${name} (${fileName}, ${formatBytes(sizeBytes)}) could not be had from any of its ${failures.length} sources:`,
        ...lines,
        'Check the network. Behind a proxy set HTTPS_PROXY; for mirrors set HF_ENDPOINT or PIP_INDEX_URL. ' +
          `Or get ${fileName} (sha256 ${sha256}) yourself and pass its path. What was downloaded is kept and resumed.`,
      ].join('\n'),
      {
        cause: failures.at(-1)?.error,
        details: {
          sources: failures.map(({ source, error }) => ({ source, code: error.code, reason: error.message })),
        },
      },
    );
  }

  #remember(
    verified: VerifiedFile,
    source: ModelSource,
    {
      directory,
      commit,
      entry,
    }: { directory?: string | undefined; commit?: string | undefined; entry?: string | undefined } = {},
  ): Promise<StoredModel> {
    const file = entry ?? this.#entry.fileName;
    return this.#store.write(
      this.#key,
      this.#record({
        complete: true,
        source,
        entry: file,
        files: [{ path: file, ...verified }],
        ...(directory ? { directory } : {}),
        ...(commit ? { commit } : {}),
      }),
    );
  }

  #record(rest: Pick<ModelRecord, 'complete' | 'source'> & Partial<ModelRecord>): ModelRecord {
    const { name, fileName } = this.#entry;
    return {
      format: 1,
      name,
      kind: 'gguf',
      updatedAt: new Date().toISOString(),
      entry: fileName,
      files: [],
      catalogueName: name,
      ...rest,
    };
  }
}
