import { type FileHandle, open, stat } from 'node:fs/promises';
import { checkFileRange, DisposedError, type FileMapper, InvalidModelError, type MappedFile } from '@hearth/core';

/** Bytes asked for in one system call; Node refuses 2 GiB and more. */
const maxReadBytes = 2 ** 30;

/** Reads files with ordinary positional reads: works everywhere, and is the fallback of the native mapper. */
export const plainFileMapper: FileMapper = {
  async open(path: string): Promise<MappedFile> {
    // Looked at before opening, because opening a pipe waits for a writer that may never come.
    const { size, isFile } = await stat(path).then(
      (stats) => ({ size: stats.size, isFile: stats.isFile() }),
      (cause) => {
        throw new InvalidModelError(`${path} cannot be opened: ${(cause as Error).message}.`, {
          cause,
          details: { path },
        });
      },
    );
    if (!isFile) throw new InvalidModelError(`${path} is not a regular file.`, { details: { path } });
    try {
      return new PlainFile(path, size, await open(path, 'r'));
    } catch (cause) {
      throw new InvalidModelError(`${path} cannot be read: ${(cause as Error).message}.`, { cause, details: { path } });
    }
  },
};

class PlainFile implements MappedFile {
  readonly path: string;
  readonly size: number;
  readonly #handle: FileHandle;
  #closed: Promise<void> | undefined;

  constructor(path: string, size: number, handle: FileHandle) {
    this.path = path;
    this.size = size;
    this.#handle = handle;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    if (this.#closed) throw new DisposedError(`file (${this.path})`);
    checkFileRange(this, offset, length);
    const bytes = new Uint8Array(length);
    let filled = 0;
    while (filled < length) {
      const wanted = Math.min(length - filled, maxReadBytes);
      const { bytesRead } = await this.#handle.read(bytes, filled, wanted, offset + filled);
      if (bytesRead === 0) {
        throw new InvalidModelError(
          `${this.path} had ${this.size} bytes when it was opened, but ends at ${offset + filled} now. Was it replaced while in use?`,
          { details: { path: this.path, size: this.size, offset: offset + filled } },
        );
      }
      filled += bytesRead;
    }
    return bytes;
  }

  close(): Promise<void> {
    this.#closed ??= this.#handle.close();
    return this.#closed;
  }
}
