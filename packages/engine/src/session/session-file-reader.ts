import { createHash, type Hash } from 'node:crypto';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { throwIfAborted } from '@hearth/core';
import type { BlockPool } from '../cache/block-pool.ts';
import { SessionFileError } from '../errors.ts';
import type { Sequence } from './sequence.ts';
import {
  decodeHeader,
  decodePreamble,
  digestBytes,
  numStoredBlocks,
  preambleBytes,
  type SessionFileHeader,
  type SessionFileTarget,
} from './session-file-header.ts';
import { blockChunkBytes } from './session-file-writer.ts';

export interface LoadSequenceOptions extends SessionFileTarget {
  readonly pool: BlockPool;
  readonly vocabSize: number;
  /** Makes an empty sequence that the caller accounts for from then on. Called last, when nothing can fail any more. */
  createSequence(salt: string, anchor: number): Sequence;
  /** Called when the header was accepted, so that the caller may give back blocks of others that the pool is short of. */
  readonly makeRoom?: (numBlocks: number) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

/**
 * Reads a sequence that `saveSequence` wrote, its blocks into the cache. Nothing is taken from the pool before the header was
 * held against model, cache and the size of the file, and everything goes back when this rejects. The sequence computes as
 * if it had never been away, but publishes no prefix: see `SequenceBlocks.adopt`.
 *
 * @throws SessionFileError
 * @throws CacheExhaustedError when the pool has too few blocks
 * @throws AbortError
 */
export async function loadSequence(path: string, options: LoadSequenceOptions): Promise<Sequence> {
  throwIfAborted(options.signal);
  const file = await SessionFile.open(path);
  try {
    const headerBytes = decodePreamble(path, await file.read(preambleBytes), file.size);
    const header = decodeHeader(path, await file.read(headerBytes), file.size, options);
    const tokenIds = await readTokenIds(file, header.numTokens, options.vocabSize);
    return await loadBlocks(file, header, tokenIds, options);
  } finally {
    await file.close();
  }
}

async function readTokenIds(file: SessionFile, numTokens: number, vocabSize: number): Promise<Int32Array> {
  const bytes = await file.read(numTokens * Int32Array.BYTES_PER_ELEMENT);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const tokenIds = Int32Array.from({ length: numTokens }, (_, i) =>
    view.getInt32(i * Int32Array.BYTES_PER_ELEMENT, true),
  );
  const wrong = tokenIds.find((id) => id < 0 || id >= vocabSize);
  if (wrong !== undefined) {
    throw new SessionFileError(
      file.path,
      'tokens',
      `its token ids should be from 0 to ${vocabSize - 1}, but one is ${wrong}. The file is damaged: compute the session again.`,
      { actual: wrong },
    );
  }
  return tokenIds;
}

async function loadBlocks(
  file: SessionFile,
  header: SessionFileHeader,
  tokenIds: Int32Array,
  { cache, pool, makeRoom, createSequence, signal }: LoadSequenceOptions,
): Promise<Sequence> {
  const numBlocks = numStoredBlocks(header);
  await makeRoom?.(numBlocks);
  const blocks = pool.allocate(numBlocks);
  // Pins, as there is no block table yet. They are written whole, so they owe no zeros.
  pool.pin(blocks);
  pool.release(blocks);
  pool.markPrepared(blocks);
  try {
    const perChunk = Math.max(1, Math.floor(blockChunkBytes / cache.bytesPerBlock));
    for (let first = 0; first < numBlocks; first += perChunk) {
      const chunk = Int32Array.from(blocks.slice(first, first + perChunk));
      await cache.writeBlocks(chunk, await file.read(chunk.length * cache.bytesPerBlock));
      throwIfAborted(signal);
    }
    await file.checkDigest();
    const sequence = createSequence(header.salt, header.anchor);
    sequence.append(tokenIds);
    sequence.blocks.adopt(blocks);
    sequence.numCachedTokens = header.numCachedTokens;
    return sequence;
  } finally {
    pool.unpin(blocks);
  }
}

/** An open session file that is read from start to end and hashed on the way. */
class SessionFile {
  readonly path: string;
  readonly size: number;
  readonly #handle: FileHandle;
  readonly #hash: Hash = createHash('sha256');

  private constructor(path: string, handle: FileHandle, size: number) {
    this.path = path;
    this.#handle = handle;
    this.size = size;
  }

  static async open(path: string): Promise<SessionFile> {
    // Opening a pipe must not wait for its writer. Windows has no such flag.
    const handle = await reading(path, () => open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0)));
    try {
      const status = await reading(path, () => handle.stat());
      const least = preambleBytes + digestBytes;
      if (!status.isFile() || status.size < least) {
        const actual = status.isFile() ? `one of ${status.size}` : 'no regular file';
        throw new SessionFileError(
          path,
          'size',
          `it should be a file of at least ${least} bytes, but is ${actual}. Give a file that was saved as a session.`,
          { expected: least, actual: status.size },
        );
      }
      return new SessionFile(path, handle, status.size);
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  /** The next `length` bytes. */
  async read(length: number): Promise<Uint8Array> {
    const bytes = await this.#readUnhashed(length);
    this.#hash.update(bytes);
    return bytes;
  }

  /** Reads the digest, which follows, and compares. */
  async checkDigest(): Promise<void> {
    const expected = Buffer.from(await this.#readUnhashed(digestBytes)).toString('hex');
    const actual = this.#hash.digest('hex');
    if (expected === actual) return;
    throw new SessionFileError(
      this.path,
      'checksum',
      `its SHA-256 should be ${expected}, but is ${actual}. The file is damaged: compute the session again and save it.`,
      { expected, actual },
    );
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  async #readUnhashed(length: number): Promise<Uint8Array> {
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const { bytesRead } = await reading(this.path, () => this.#handle.read(bytes, done, length - done));
      if (bytesRead === 0) {
        throw new SessionFileError(
          this.path,
          'size',
          `it had ${this.size} bytes when it was opened, but ends earlier. Do not write to it while it is loaded.`,
          { expected: this.size },
        );
      }
      done += bytesRead;
    }
    return bytes;
  }
}

/** Turns what the operating system says into a `SessionFileError`. */
async function reading<T>(path: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new SessionFileError(path, 'read', `it cannot be read (${reason}). Check the path and its permissions.`, {
      cause,
    });
  }
}
