import { type FileHandle, open } from 'node:fs/promises';
import { checkFileRange, DisposedError, type FileMapper, InvalidModelError, type MappedFile } from '@hearth/core';

/** Files read with ordinary file calls. Nothing is mapped. */
export const nodeFileMapper: FileMapper = {
  async open(path) {
    const handle = await open(path, 'r');
    try {
      return new NodeFile(path, handle, (await handle.stat()).size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  },
};

class NodeFile implements MappedFile {
  readonly path: string;
  readonly size: number;
  #handle: FileHandle | null;

  constructor(path: string, handle: FileHandle, size: number) {
    this.path = path;
    this.#handle = handle;
    this.size = size;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    if (!this.#handle) throw new DisposedError('file');
    checkFileRange(this, offset, length);
    const bytes = new Uint8Array(length);
    let done = 0;
    while (done < length) {
      const { bytesRead } = await this.#handle.read(bytes, done, length - done, offset + done);
      if (bytesRead === 0) {
        throw new InvalidModelError(`${this.path} became shorter than ${this.size} bytes while it was read.`, {
          details: { path: this.path },
        });
      }
      done += bytesRead;
    }
    return bytes;
  }

  async close(): Promise<void> {
    const handle = this.#handle;
    this.#handle = null;
    await handle?.close();
  }
}
