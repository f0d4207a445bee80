import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BlockPool } from '../../cache/block-pool.ts';
import { PrefixCache } from '../../cache/prefix-cache.ts';
import { prepareBlocks } from '../../cache/prepare-blocks.ts';
import { SequenceBlocks } from '../../cache/sequence-blocks.ts';
import { FakeCache } from '../../test/fake-cache.ts';
import { Sequence } from '../sequence.ts';
import { digestBytes, preambleBytes, type SessionFileHeader } from '../session-file-header.ts';
import { type LoadSequenceOptions, loadSequence } from '../session-file-reader.ts';
import { type SaveSequenceOptions, saveSequence } from '../session-file-writer.ts';

export const blockSize = 4;
export const vocabSize = 1000;

export interface WorldOptions {
  readonly numBlocks?: number;
  readonly blockSize?: number;
  readonly dtype?: 'f16' | 'f32';
}

/** A model without a model: a cache, its pool, and the sequences in it. */
export class World {
  readonly cache: FakeCache;
  readonly pool: BlockPool;
  readonly prefixCache: PrefixCache;
  readonly sequences: Sequence[] = [];

  constructor({ numBlocks = 8, dtype = 'f16', ...options }: WorldOptions = {}) {
    this.cache = new FakeCache({ dtype, numBlocks, blockSize: options.blockSize ?? blockSize });
    this.pool = new BlockPool(numBlocks);
    this.prefixCache = new PrefixCache(this.pool, this.cache.blockSize);
  }

  createSequence(salt: string, anchor: number): Sequence {
    const { blockSize } = this.cache;
    const sequence = new Sequence(new SequenceBlocks(this.pool, blockSize, this.prefixCache, salt), anchor);
    this.sequences.push(sequence);
    return sequence;
  }

  /** A sequence of `numTokens` tokens, of which `numCachedTokens` are in the cache. */
  async computed(numTokens: number, numCachedTokens: number, { salt = '', anchor = 0 } = {}): Promise<Sequence> {
    const sequence = this.createSequence(salt, anchor);
    sequence.append(Array.from({ length: numTokens }, (_, i) => (7 * i + 3) % vocabSize));
    sequence.blocks.growTo(numCachedTokens, 0);
    await prepareBlocks(this.cache, this.pool);
    const places = new Int32Array(sequence.blocks.numBlocks * this.cache.blockSize).fill(-1);
    places.set(sequence.tokenIds.slice(0, numCachedTokens));
    await this.cache.writeBlocks(Int32Array.from(sequence.blocks.table), new Uint8Array(places.buffer));
    sequence.numCachedTokens = numCachedTokens;
    return sequence;
  }

  /** What the cache holds of a sequence: its tokens, in a fake cache. */
  async cachedTokens({ blocks, numCachedTokens }: Sequence): Promise<number[]> {
    const bytes = await this.cache.readBlocks(Int32Array.from(blocks.table));
    return [...new Int32Array(bytes.buffer)].slice(0, numCachedTokens);
  }

  save(path: string, sequence: Sequence, options: Partial<SaveSequenceOptions> = {}): Promise<void> {
    return saveSequence(path, sequence, { cache: this.cache, pool: this.pool, fingerprint: 'model a', ...options });
  }

  load(path: string, options: Partial<LoadSequenceOptions> = {}): Promise<Sequence> {
    return loadSequence(path, {
      cache: this.cache,
      pool: this.pool,
      fingerprint: 'model a',
      contextLength: 64,
      vocabSize,
      createSequence: (salt, anchor) => this.createSequence(salt, anchor),
      ...options,
    });
  }

  checkIntegrity(): void {
    this.pool.checkIntegrity(this.sequences.flatMap(({ blocks }) => blocks.table));
    this.prefixCache.checkIntegrity();
  }
}

/** Runs `use` with a directory that is gone afterwards. */
export async function inDirectory(use: (directory: string) => Promise<void>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'hearth-session-'));
  try {
    await use(directory);
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Writes a session file anew with a changed header and the digest that belongs to it. */
export async function rewriteHeader(
  path: string,
  change: (header: SessionFileHeader) => Record<string, unknown>,
): Promise<void> {
  const bytes = await readFile(path);
  const headerEnd = preambleBytes + bytes.readUInt32LE(12);
  const header = JSON.parse(bytes.toString('utf8', preambleBytes, headerEnd)) as SessionFileHeader;
  await rewriteJson(path, JSON.stringify({ ...header, ...change(header) }));
}

/** Puts any text in the place of the header. */
export async function rewriteJson(path: string, json: string): Promise<void> {
  const bytes = await readFile(path);
  const preamble = Buffer.from(bytes.subarray(0, preambleBytes));
  const headerEnd = preambleBytes + preamble.readUInt32LE(12);
  preamble.writeUInt32LE(Buffer.byteLength(json), 12);
  const body = bytes.subarray(headerEnd, bytes.length - digestBytes);
  await writeFile(path, withDigest(Buffer.concat([preamble, Buffer.from(json), body])));
}

export function withDigest(content: Uint8Array): Uint8Array {
  return Buffer.concat([content, createHash('sha256').update(content).digest()]);
}
