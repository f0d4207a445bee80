import { randomBytes } from 'node:crypto';
import { type FileHandle, open, rename, rm } from 'node:fs/promises';

/** Small writes are gathered into pieces of this size: a model has hundreds of tensors of a few kilobytes. */
const bufferBytes = 2 ** 20;

/** Writes bytes one after another into an open file. */
export class FileSink {
  readonly #handle: FileHandle;
  readonly #buffer = new Uint8Array(bufferBytes);
  #buffered = 0;
  #flushed = 0;

  constructor(handle: FileHandle) {
    this.#handle = handle;
  }

  /** Bytes taken so far. */
  get position(): number {
    return this.#flushed + this.#buffered;
  }

  async write(bytes: Uint8Array): Promise<void> {
    if (bytes.length > bufferBytes - this.#buffered) await this.flush();
    if (bytes.length > bufferBytes) {
      await this.#writeOut(bytes);
      return;
    }
    this.#buffer.set(bytes, this.#buffered);
    this.#buffered += bytes.length;
  }

  /** Writes zeros up to the next multiple of `alignment`. */
  async alignTo(alignment: number): Promise<void> {
    const padding = -this.position % alignment;
    if (padding !== 0) await this.write(new Uint8Array(alignment + padding));
  }

  async flush(): Promise<void> {
    if (this.#buffered > 0) await this.#writeOut(this.#buffer.subarray(0, this.#buffered));
    this.#buffered = 0;
  }

  async #writeOut(bytes: Uint8Array): Promise<void> {
    for (let written = 0; written < bytes.length; ) {
      written += (await this.#handle.write(bytes, written)).bytesWritten;
    }
    this.#flushed += bytes.length;
  }
}

/** A name beside `path` that no reader takes for a finished file or directory. */
export function partialName(path: string): string {
  return `${path}.${randomBytes(6).toString('hex')}.part`;
}

/**
 * Writes a file aside and renames it when it is complete and on disk: nobody ever sees half of it under its name, and an
 * older file there stays until then. When `write` fails, nothing is left behind.
 */
export async function writeAside(path: string, write: (sink: FileSink) => Promise<void>): Promise<void> {
  const partial = partialName(path);
  const handle = await open(partial, 'wx');
  try {
    try {
      const sink = new FileSink(handle);
      await write(sink);
      await sink.flush();
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
}
