import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { isSafeRelativePath } from './repository-files.ts';
import type { ModelSource, ResolvedModel } from './resolved-model.ts';

/** One file of a cached model. */
export interface RecordedFile {
  /** Path relative to the model's directory, with `/`. */
  path: string;
  sizeBytes: number;
  /** Modification time when it was verified; a file that changed since is hashed again. */
  modifiedMs: number;
  sha256: string;
}

/** What the cache knows of a model; stored as `hearth.json` in the model's directory, complete ones last of all files. */
export interface ModelRecord {
  format: 1;
  name: string;
  kind: ResolvedModel['kind'];
  source: ModelSource;
  /** False while it is being fetched, or after that was interrupted. */
  complete: boolean;
  /** ISO 8601. */
  updatedAt: string;
  /** Directory of the files if they lie in another tool's cache. */
  directory?: string;
  /** File to open, for `gguf`. */
  entry?: string;
  files: RecordedFile[];
  /** Of a catalogue model. */
  catalogueName?: string;
  repository?: string;
  commit?: string;
  /** What was asked for when this was the answer, e.g. revision `main`, selector `Q4_1`. */
  requests?: { revision: string; selector: string | null }[];
}

/** A record and the directory it was found in. */
export interface StoredModel {
  key: string;
  /** Directory of `hearth.json`, and of the files unless the record names another one. */
  directory: string;
  record: ModelRecord;
}

const RECORD_FILE = 'hearth.json';

/** Records are a few kB; even a thousand shards fit. */
const MAX_RECORD_BYTES = 1024 * 1024;

/** The directories `models/KEY` of a cache, one per model and revision. */
export class ModelStore {
  readonly #root: string;

  constructor(cacheDirectory: string) {
    this.#root = cacheDirectory;
  }

  directoryOf(key: string): string {
    return path.join(this.#root, 'models', key);
  }

  lockPathOf(key: string): string {
    return path.join(this.#root, 'locks', `${key}.lock`);
  }

  /** Models with a readable record, complete or not, by name. */
  async list(): Promise<StoredModel[]> {
    const keys = await readdir(path.join(this.#root, 'models')).catch(() => [] as string[]);
    const found = await Promise.all(keys.map((key) => this.read(key)));
    return found
      .filter((model) => model !== undefined)
      .sort((a, b) => a.record.name.localeCompare(b.record.name) || a.key.localeCompare(b.key));
  }

  async read(key: string): Promise<StoredModel | undefined> {
    const directory = this.directoryOf(key);
    const record = await readRecord(path.join(directory, RECORD_FILE));
    return record && { key, directory, record };
  }

  /** Writes aside and renames, so that a record is never half there. */
  async write(key: string, record: ModelRecord): Promise<StoredModel> {
    const directory = this.directoryOf(key);
    await mkdir(directory, { recursive: true });
    const aside = path.join(directory, `${RECORD_FILE}.${randomUUID()}`);
    await writeFile(aside, `${JSON.stringify(record, undefined, 2)}\n`);
    await rename(aside, path.join(directory, RECORD_FILE));
    return { key, directory, record };
  }

  /** Removes what sources that failed have left beside a finished file: parts, wheels. */
  async keepOnly(key: string, fileName: string): Promise<void> {
    const directory = this.directoryOf(key);
    const leftovers = (await readdir(directory)).filter((name) => name !== fileName && name !== RECORD_FILE);
    await Promise.all(leftovers.map((name) => rm(path.join(directory, name), { recursive: true, force: true })));
  }

  /** Removes the model's directory; files in another tool's cache stay. */
  async remove(key: string): Promise<void> {
    await rm(this.directoryOf(key), { recursive: true, force: true });
  }
}

/**
 * A directory name for a model: letters that every file system takes, at most 120 of them, with a hash when anything
 * had to be replaced or cut.
 */
export function storeKey(...parts: string[]): string {
  const joined = parts.join('@');
  const plain = joined.replaceAll('/', '--').replace(/[^\w.@-]/g, '_');
  if (plain === joined.replaceAll('/', '--') && plain.length <= 120) return plain;
  return `${plain.slice(0, 107)}-${createHash('sha256').update(joined).digest('hex').slice(0, 12)}`;
}

/** Absolute path of one file of a stored model. */
export function storedFilePath({ directory, record }: StoredModel, file: string): string {
  return path.join(record.directory ?? directory, ...file.split('/'));
}

/** Are all files there, with the size and time that they had when they were verified? */
export async function isIntact(model: StoredModel): Promise<boolean> {
  if (!model.record.complete || model.record.files.length === 0) return false;
  const checks = model.record.files.map(async ({ path: file, sizeBytes, modifiedMs }) => {
    const status = await stat(storedFilePath(model, file)).catch(() => undefined);
    return status?.isFile() === true && status.size === sizeBytes && status.mtimeMs === modifiedMs;
  });
  return (await Promise.all(checks)).every((same) => same);
}

/** A complete stored model as its user sees it. */
export function asResolvedModel(model: StoredModel): ResolvedModel {
  const { record, directory } = model;
  const { files, entry } = record;
  const onlyFile = files.length === 1 ? files[0] : undefined;
  return {
    kind: record.kind,
    path: entry === undefined ? (record.directory ?? directory) : storedFilePath(model, entry),
    name: record.name,
    source: record.source,
    ...(record.commit ? { revision: record.commit } : {}),
    ...(record.kind === 'gguf' && onlyFile ? { sha256: onlyFile.sha256 } : {}),
    sizeBytes: files.reduce((sum, file) => sum + file.sizeBytes, 0),
  };
}

async function readRecord(file: string): Promise<ModelRecord | undefined> {
  try {
    if ((await stat(file)).size > MAX_RECORD_BYTES) return undefined;
    const record: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isModelRecord(record) ? record : undefined;
  } catch {
    // No record, a damaged one, or a directory that is none of ours: as good as not there.
    return undefined;
  }
}

/** Records are files that anyone may have edited: paths must not lead out of the model's directory. */
function isModelRecord(value: unknown): value is ModelRecord {
  const record = value as Partial<ModelRecord> | null;
  if (typeof record !== 'object' || record === null || record.format !== 1) return false;
  const areFiles =
    Array.isArray(record.files) &&
    record.files.every(
      (file) =>
        typeof file?.path === 'string' &&
        isSafeRelativePath(file.path) &&
        Number.isSafeInteger(file.sizeBytes) &&
        typeof file.modifiedMs === 'number' &&
        typeof file.sha256 === 'string',
    );
  const areRequests =
    record.requests === undefined ||
    (Array.isArray(record.requests) &&
      record.requests.every(
        (request) =>
          typeof request?.revision === 'string' && (request.selector === null || typeof request.selector === 'string'),
      ));
  return (
    areFiles &&
    areRequests &&
    typeof record.name === 'string' &&
    (record.kind === 'directory' || record.kind === 'gguf') &&
    (record.kind === 'directory') === (record.entry === undefined) &&
    (record.entry === undefined || (typeof record.entry === 'string' && isSafeRelativePath(record.entry))) &&
    typeof record.complete === 'boolean' &&
    typeof record.updatedAt === 'string' &&
    typeof record.source?.type === 'string' &&
    typeof record.source.location === 'string' &&
    [record.directory, record.catalogueName, record.repository, record.commit].every(
      (text) => text === undefined || typeof text === 'string',
    )
  );
}
