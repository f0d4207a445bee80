import { checkFileRange, DisposedError, type FileMapper, type MappedFile } from '@hearth/core';
import type { NativeFile, NativeRuntime } from './addon-types.ts';
import { translatingErrors } from './native-errors.ts';

/** `map`: read-only memory mappings, the fastest. `read`: positioned reads; for file systems that are slow or unsafe to map. */
export type FileAccess = 'map' | 'read';

/** Opens files natively, so that weights are packed straight from them. */
export class NativeFileMapper implements FileMapper {
  readonly #runtime: NativeRuntime;
  readonly #access: FileAccess;

  constructor(runtime: NativeRuntime, access: FileAccess) {
    this.#runtime = runtime;
    this.#access = access;
  }

  /**
   * @param access as this mapper opens files, unless it is said
   * @throws InvalidModelError when the path cannot be opened or is not a regular file
   */
  async open(path: string, access = this.#access): Promise<NativeMappedFile> {
    const file = await translatingErrors(() => this.#runtime.openFile(path, access === 'map'));
    return new NativeMappedFile(path, file);
  }
}

/** A file that native code can read by itself. Work that has begun keeps it open after `close`. */
export class NativeMappedFile implements MappedFile {
  readonly path: string;
  readonly size: number;
  readonly modifiedNs: bigint;
  #native: NativeFile | undefined;

  constructor(path: string, native: NativeFile) {
    this.path = path;
    this.size = native.size;
    this.modifiedNs = native.modifiedNs;
    this.#native = native;
  }

  /** @throws DisposedError after `close` */
  get native(): NativeFile {
    if (!this.#native) throw new DisposedError('file');
    return this.#native;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    checkFileRange(this, offset, length);
    return translatingErrors(() => this.native.read(offset, length));
  }

  async close(): Promise<void> {
    this.#native?.close();
    this.#native = undefined;
  }
}
