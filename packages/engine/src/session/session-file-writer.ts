import { createHash } from 'node:crypto';
import { type FileSink, writeAside } from '@hearth/checkpoint';
import { HearthError, type KvCache, numericsVersion, throwIfAborted } from '@hearth/core';
import type { BlockPool } from '../cache/block-pool.ts';
import { SessionFileError } from '../errors.ts';
import type { Sequence } from './sequence.ts';
import { encodeHeader } from './session-file-header.ts';

export interface SaveSequenceOptions {
  readonly cache: KvCache;
  readonly pool: BlockPool;
  /** Of the model. */
  readonly fingerprint: string;
  readonly signal?: AbortSignal;
}

/** Bytes of blocks that are in memory at a time, one block at least: hashing them must not hold the thread up. */
export const blockChunkBytes = 2 ** 20;

/**
 * Writes a sequence, its tokens and what of them is in the cache, as it is now: the blocks are pinned, so that it may go on, or
 * lose its blocks, while they are written. An older file stays until the new one is whole and on disk; when this rejects,
 * nothing is left of the new one.
 *
 * @throws SessionFileError with check `write` when the file cannot be written
 * @throws AbortError
 */
export async function saveSequence(path: string, sequence: Sequence, options: SaveSequenceOptions): Promise<void> {
  const { cache, pool, fingerprint, signal } = options;
  throwIfAborted(signal);
  const { numCachedTokens, anchor, cacheSalt } = sequence;
  const tokenIds = Int32Array.from(sequence.tokenIds);
  const numBlocks = Math.ceil(numCachedTokens / cache.blockSize);
  // A block that was replaced for a step that has not run yet holds nothing so far.
  const blocks = sequence.blocks.table.slice(0, numBlocks).map((block) => pool.contentOf(block));
  const header = encodeHeader({
    fingerprint,
    numericsVersion,
    cacheDtype: cache.dtype,
    cacheLayout: cache.layout,
    blockSize: cache.blockSize,
    bytesPerBlock: cache.bytesPerBlock,
    numTokens: tokenIds.length,
    numCachedTokens,
    anchor,
    salt: cacheSalt,
  });
  pool.pin(blocks);
  try {
    await writeAside(path, (sink) => writeBody(sink, header, tokenIds, blocks, cache, signal));
  } catch (error) {
    if (HearthError.isInstance(error)) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new SessionFileError(path, 'write', `it cannot be written (${reason}). Choose another place.`, {
      cause: error,
    });
  } finally {
    pool.unpin(blocks);
  }
}

async function writeBody(
  sink: FileSink,
  header: Uint8Array,
  tokenIds: Int32Array,
  blocks: readonly number[],
  cache: KvCache,
  signal: AbortSignal | undefined,
): Promise<void> {
  const hash = createHash('sha256');
  const write = async (bytes: Uint8Array) => {
    hash.update(bytes);
    await sink.write(bytes);
    throwIfAborted(signal);
  };
  await write(header);
  await write(encodeTokenIds(tokenIds));
  const perChunk = Math.max(1, Math.floor(blockChunkBytes / cache.bytesPerBlock));
  for (let first = 0; first < blocks.length; first += perChunk) {
    await write(await cache.readBlocks(Int32Array.from(blocks.slice(first, first + perChunk))));
  }
  await sink.write(hash.digest());
}

function encodeTokenIds(tokenIds: Int32Array): Uint8Array {
  const bytes = new DataView(new ArrayBuffer(tokenIds.byteLength));
  for (const [i, id] of tokenIds.entries()) bytes.setInt32(i * Int32Array.BYTES_PER_ELEMENT, id, true);
  return new Uint8Array(bytes.buffer);
}
