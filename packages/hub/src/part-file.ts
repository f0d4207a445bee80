import { constants } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { throwIfAborted } from '@hearth/core';
import { ContentHasher, type Digest, type DigestMismatch } from './digest.ts';

/** What is known of the bytes in a part file, so that only bytes of the same file are ever joined. */
export interface PartOrigin {
  /** The checksum that the whole file must have, or else the address without credentials. A part of anything else is dropped. */
  identity: string;
  /** Address that the validators below belong to. */
  url?: string | undefined;
  etag?: string | undefined;
  lastModified?: string | undefined;
  /** Size of the whole file, as the server declared it. */
  sizeBytes?: number | undefined;
}

/** Read size of the re-hash: large enough that system calls do not matter, small enough for the event loop. */
const READ_BYTES = 1024 * 1024;

/**
 * A file under construction: `NAME.part` beside its final place, hashed while it grows, renamed only when it is whole.
 * What it holds is described in `NAME.part.json`. One writer at a time: the caller holds the model's lock.
 */
export class PartFile {
  readonly finalPath: string;
  readonly #handle: FileHandle;
  readonly #digests: readonly Digest[];
  readonly #expectedSize: number | undefined;
  #hasher: ContentHasher;
  #size = 0;
  #origin: PartOrigin;
  #open = true;

  private constructor(
    finalPath: string,
    handle: FileHandle,
    origin: PartOrigin,
    digests: readonly Digest[],
    expectedSize: number | undefined,
  ) {
    this.finalPath = finalPath;
    this.#handle = handle;
    this.#origin = origin;
    this.#digests = digests;
    this.#expectedSize = expectedSize;
    this.#hasher = new ContentHasher(digests, expectedSize);
  }

  /** Opens the part left by an earlier run, if it is one of the same file, and hashes it; else starts an empty one. */
  static async open(
    finalPath: string,
    identity: string,
    digests: readonly Digest[],
    expectedSize: number | undefined,
    signal: AbortSignal | undefined,
  ): Promise<PartFile> {
    const handle = await open(partPathOf(finalPath), constants.O_RDWR | constants.O_CREAT, 0o644);
    try {
      const known = await readOrigin(finalPath);
      const part = new PartFile(finalPath, handle, known ?? { identity }, digests, expectedSize);
      const { size } = await handle.stat();
      const fits = known?.identity === identity && (expectedSize === undefined || size <= expectedSize);
      if (fits) await part.#hashWhatIsThere(size, signal);
      else await part.restart({ identity });
      return part;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** Bytes held so far. */
  get size(): number {
    return this.#size;
  }

  get origin(): Readonly<PartOrigin> {
    return this.#origin;
  }

  /** Remembers the validators of the answer whose body follows. */
  async describe(origin: PartOrigin): Promise<void> {
    this.#origin = origin;
    await writeFile(originPathOf(this.finalPath), JSON.stringify(origin));
  }

  /** Throws the bytes away and begins at zero. */
  async restart(origin: PartOrigin = { identity: this.#origin.identity }): Promise<void> {
    await this.#handle.truncate(0);
    this.#size = 0;
    this.#hasher = new ContentHasher(this.#digests, this.#expectedSize);
    this.#origin = origin;
    await rm(originPathOf(this.finalPath), { force: true });
  }

  async append(bytes: Uint8Array): Promise<void> {
    let written = 0;
    while (written < bytes.byteLength) {
      const result = await this.#handle.write(bytes, written, bytes.byteLength - written, this.#size + written);
      written += result.bytesWritten;
    }
    this.#size += bytes.byteLength;
    this.#hasher.update(bytes);
  }

  /** Makes what was appended survive a power cut. */
  async sync(): Promise<void> {
    await this.#handle.sync();
  }

  /** Compares the digests. Afterwards only `restart`, `commit`, `discard` and `close` make sense. */
  verify(): { sha256: string; mismatch: DigestMismatch | undefined } {
    return this.#hasher.finish();
  }

  /** Makes the bytes durable and gives them their final name. */
  async commit(): Promise<void> {
    const { size } = await this.#handle.stat();
    if (size !== this.#size) {
      throw new Error(`${partPathOf(this.finalPath)} holds ${size} bytes, but ${this.#size} were written to it.`);
    }
    await this.#handle.sync();
    await this.close();
    await rename(partPathOf(this.finalPath), this.finalPath);
    await rm(originPathOf(this.finalPath), { force: true });
    await syncDirectory(path.dirname(this.finalPath));
  }

  /** Removes the part. */
  async discard(): Promise<void> {
    await this.close();
    await removePart(this.finalPath);
  }

  /** Leaves the part where it is, to be resumed. */
  async close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await this.#handle.close();
  }

  async #hashWhatIsThere(size: number, signal: AbortSignal | undefined): Promise<void> {
    const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, Math.max(size, 1)));
    while (this.#size < size) {
      throwIfAborted(signal);
      const { bytesRead } = await this.#handle.read(buffer, 0, Math.min(buffer.length, size - this.#size), this.#size);
      if (bytesRead === 0) break;
      this.#hasher.update(buffer.subarray(0, bytesRead));
      this.#size += bytesRead;
    }
  }
}

/** Removes the part of a file and its description, if there are any. */
export async function removePart(finalPath: string): Promise<void> {
  await rm(partPathOf(finalPath), { force: true });
  await rm(originPathOf(finalPath), { force: true });
}

function partPathOf(finalPath: string): string {
  return `${finalPath}.part`;
}

function originPathOf(finalPath: string): string {
  return `${finalPath}.part.json`;
}

async function readOrigin(finalPath: string): Promise<PartOrigin | undefined> {
  try {
    const read: unknown = JSON.parse(await readFile(originPathOf(finalPath), 'utf8'));
    if (typeof read !== 'object' || read === null) return undefined;
    const { identity, url, etag, lastModified, sizeBytes } = read as Record<string, unknown>;
    if (typeof identity !== 'string') return undefined;
    return {
      identity,
      url: typeof url === 'string' ? url : undefined,
      etag: typeof etag === 'string' ? etag : undefined,
      lastModified: typeof lastModified === 'string' ? lastModified : undefined,
      sizeBytes: Number.isSafeInteger(sizeBytes) ? (sizeBytes as number) : undefined,
    };
  } catch {
    // Missing or damaged: the part is then of unknown origin and dropped.
    return undefined;
  }
}

/** Makes a rename survive a power cut. Windows cannot open a directory for this, and does not need it. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r').catch(() => undefined);
  await handle?.sync().catch(() => undefined);
  await handle?.close();
}
