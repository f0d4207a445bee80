import { InvalidArgumentError, InvalidModelError } from '../errors/errors.ts';

/**
 * A file opened for random reads. The native implementation memory-maps it and native code reads the mapping directly;
 * the plain one reads with ordinary file calls. Bytes of a mapping never reach JavaScript as a view: `read` copies.
 */
export interface MappedFile {
  readonly path: string;
  /** Bytes in the file when it was opened. */
  readonly size: number;
  /** When the file was changed last, in nanoseconds since 1970, as of opening it. Absent for bytes that are not a file. */
  readonly modifiedNs?: bigint;
  /** A copy of `length` bytes from `offset`. Rejects with InvalidModelError when the range is not within the file. */
  read(offset: number, length: number): Promise<Uint8Array>;
  /** Safe to call twice. */
  close(): Promise<void>;
}

export interface FileMapper {
  open(path: string): Promise<MappedFile>;
}

/** Rejects a range that is not within the file, before anything is allocated. */
export function checkFileRange(file: { path: string; size: number }, offset: number, length: number): void {
  if (
    !Number.isSafeInteger(offset) ||
    !Number.isSafeInteger(length) ||
    offset < 0 ||
    length < 0 ||
    offset + length > file.size
  ) {
    throw new InvalidModelError(
      `${file.path} has ${file.size} bytes, but bytes ${offset} to ${offset + length} are needed. The file is cut short or damaged.`,
      { details: { path: file.path, size: file.size, offset, length } },
    );
  }
}

/** Bytes in memory behind the `MappedFile` interface, for tests and for models made on the fly. */
export class MemoryFile implements MappedFile {
  readonly path: string;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, path = '(memory)') {
    this.#bytes = bytes;
    this.path = path;
  }

  get size(): number {
    return this.#bytes.length;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    checkFileRange(this, offset, length);
    return this.#bytes.slice(offset, offset + length);
  }

  async close(): Promise<void> {}
}

/** A stretch of a file. */
export interface FileRange {
  readonly file: MappedFile;
  readonly offset: number;
  readonly byteLength: number;
}

/**
 * A file whose bytes are worked out from others when they are asked for: a transposed matrix, 4-bit codes put into another
 * order, weights quantized on load. `close` does nothing: the files behind it have owners of their own.
 */
export class DerivedFile implements MappedFile {
  readonly path: string;
  readonly size: number;
  /** Where the bytes that most of it is made from lie, for who wants to tell files apart without working them out. */
  readonly origin: FileRange | undefined;
  readonly #derive: (offset: number, length: number) => Promise<Uint8Array>;

  /**
   * @param path names the origin in messages
   * @param derive gives exactly `length` bytes from `offset`, which is within the file
   */
  constructor(
    path: string,
    size: number,
    derive: (offset: number, length: number) => Promise<Uint8Array>,
    origin?: FileRange,
  ) {
    this.path = path;
    this.size = size;
    this.origin = origin;
    this.#derive = derive;
  }

  async read(offset: number, length: number): Promise<Uint8Array> {
    checkFileRange(this, offset, length);
    const bytes = await this.#derive(offset, length);
    if (bytes.length !== length) {
      throw new InvalidArgumentError(`${this.path}: ${length} derived bytes were asked for, ${bytes.length} came.`);
    }
    return bytes;
  }

  async close(): Promise<void> {}
}
