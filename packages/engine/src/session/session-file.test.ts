import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { prepareBlocks } from '../cache/prepare-blocks.ts';
import { CacheExhaustedError, SessionFileError } from '../errors.ts';
import {
  inDirectory,
  rewriteHeader,
  rewriteJson,
  vocabSize,
  World,
  withDigest,
} from './__fixtures__/stored-session.ts';
import { blockChunkBytes } from './session-file-writer.ts';

describe('a saved sequence', () => {
  it.each([
    [0, 0],
    [3, 0],
    [5, 1],
    [4, 4],
    [9, 5],
    [11, 8],
    [20, 19],
  ])('of %i tokens, %i of them in the cache, is loaded as it was', (numTokens, numCachedTokens) =>
    inDirectory(async (directory) => {
      const path = join(directory, 'session');
      const saved = new World();
      const sequence = await saved.computed(numTokens, numCachedTokens, {
        salt: 'tenant',
        anchor: Math.min(2, numTokens),
      });
      await saved.save(path, sequence);
      saved.checkIntegrity();

      const world = new World({ numBlocks: 6 });
      const other = await world.computed(4, 4);
      const loaded = await world.load(path);
      expect(loaded).toMatchObject({ tokenIds: sequence.tokenIds, numCachedTokens, cacheSalt: 'tenant' });
      expect(loaded.anchor).toBe(Math.min(2, numTokens));
      // A later step must not zero what was loaded.
      await prepareBlocks(world.cache, world.pool);
      expect(await world.cachedTokens(loaded)).toEqual(sequence.tokenIds.slice(0, numCachedTokens));
      expect(await world.cachedTokens(other)).toEqual(other.tokenIds);
      world.checkIntegrity();
    }),
  );

  it('is moved a few blocks at a time', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'session');
      // Two blocks make a chunk.
      const blockSize = blockChunkBytes / 8;
      const world = new World({ numBlocks: 10, blockSize });
      const numTokens = 5 * blockSize - 3;
      const sequence = await world.computed(numTokens, numTokens);
      const sizes: number[] = [];
      const { cache } = world;
      const readBlocks = cache.readBlocks.bind(cache);
      const writeBlocks = cache.writeBlocks.bind(cache);
      cache.readBlocks = (blocks) => {
        sizes.push(blocks.length);
        return readBlocks(blocks);
      };
      cache.writeBlocks = (blocks, bytes) => {
        sizes.push(blocks.length);
        return writeBlocks(blocks, bytes);
      };
      await world.save(path, sequence);
      const loaded = await world.load(path, { contextLength: numTokens });
      expect(sizes).toEqual([2, 2, 1, 2, 2, 1]);
      cache.readBlocks = readBlocks;
      const [before, after] = await Promise.all(
        [sequence, loaded].map(({ blocks }) => readBlocks(Int32Array.from(blocks.table))),
      );
      expect(Buffer.compare(before!, after!)).toBe(0);
    }));

  it('may lose its blocks while it is written', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'session');
      const world = new World();
      const sequence = await world.computed(12, 12);
      const tokenIds = [...sequence.tokenIds];
      const readBlocks = world.cache.readBlocks.bind(world.cache);
      world.cache.readBlocks = async (blocks) => {
        sequence.releaseBlocks();
        world.checkIntegrity();
        const others = world.createSequence('', 0);
        others.blocks.growTo(world.pool.numAvailableBlocks * world.cache.blockSize, 0);
        await prepareBlocks(world.cache, world.pool);
        return readBlocks(blocks);
      };
      await world.save(path, sequence);
      const elsewhere = new World();
      expect(await elsewhere.cachedTokens(await elsewhere.load(path))).toEqual(tokenIds);
      world.checkIntegrity();
    }));

  it('is read from where a copy is to come from that no step has needed yet', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'session');
      const world = new World();
      const sequence = await world.computed(7, 6);
      const fork = sequence.fork();
      world.sequences.push(fork);
      fork.blocks.growTo(7, 6);
      await world.save(path, fork);
      expect(await world.cachedTokens(await world.load(path))).toEqual(fork.tokenIds.slice(0, 6));
      world.checkIntegrity();
    }));

  it('publishes nothing after it was loaded, nor does its fork, until its blocks were computed here', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'session');
      const world = new World();
      await world.save(path, await world.computed(8, 8));
      const loaded = await world.load(path);
      const fork = loaded.fork();
      loaded.publishPrefix();
      fork.publishPrefix();
      expect(world.prefixCache.match(loaded.tokenIds, '', 8)).toEqual([]);
      loaded.releaseBlocks();
      loaded.blocks.growTo(8, 0);
      await prepareBlocks(world.cache, world.pool);
      loaded.numCachedTokens = 8;
      loaded.publishPrefix();
      expect(world.prefixCache.match(loaded.tokenIds, '', 8)).toHaveLength(2);
    }));
});

describe('saving', () => {
  it('replaces an older file', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'session');
      const world = new World();
      await world.save(path, await world.computed(9, 9));
      await world.save(path, await world.computed(3, 2));
      expect(await readdir(directory)).toEqual(['session']);
      expect(await world.load(path)).toMatchObject({ length: 3, numCachedTokens: 2 });
    }));

  it.each(['aborted', 'failed'])('leaves nothing behind when it is %s', (how) =>
    inDirectory(async (directory) => {
      const path = join(directory, 'session');
      const world = new World();
      const sequence = await world.computed(9, 9);
      await writeFile(path, 'an older file');
      const controller = new AbortController();
      const readBlocks = world.cache.readBlocks.bind(world.cache);
      world.cache.readBlocks = async (blocks) => {
        expect(await readdir(directory)).toHaveLength(2);
        if (how === 'failed') throw new Error('no more');
        controller.abort();
        return readBlocks(blocks);
      };
      const saving = world.save(path, sequence, { signal: controller.signal });
      await expect(saving).rejects.toMatchObject(
        how === 'aborted' ? { code: 'aborted' } : { code: 'session_file', check: 'write' },
      );
      expect(await readdir(directory)).toEqual(['session']);
      expect(await readFile(path, 'utf8')).toBe('an older file');
      world.checkIntegrity();
    }),
  );

  it('does not begin when the signal has fired', () =>
    inDirectory(async (directory) => {
      const world = new World();
      const saving = world.save(join(directory, 'session'), await world.computed(1, 1), {
        signal: AbortSignal.abort(),
      });
      await expect(saving).rejects.toMatchObject({ code: 'aborted' });
      expect(await readdir(directory)).toEqual([]);
    }));

  it('says where it cannot write', () =>
    inDirectory(async (directory) => {
      const path = join(directory, 'missing', 'session');
      const world = new World();
      const saving = world.save(path, await world.computed(1, 1));
      await expect(saving).rejects.toThrow(SessionFileError);
      await expect(saving).rejects.toThrow(/missing.session: it cannot be written \(ENOENT/);
      world.checkIntegrity();
    }));

  it('refuses a salt that is longer than a header', () =>
    inDirectory(async (directory) => {
      const world = new World();
      const sequence = await world.computed(1, 1, { salt: 'x'.repeat(70_000) });
      await expect(world.save(join(directory, 'session'), sequence)).rejects.toThrow(/Use a shorter cacheSalt/);
      world.checkIntegrity();
    }));
});

/** Loading must fail, take no block for good, and make no sequence. Returns the error, and whether blocks were asked for. */
async function refusal(path: string, world = new World(), options: Parameters<World['load']>[1] = {}) {
  let wantedBlocks = false;
  const makeRoom = () => {
    wantedBlocks = true;
  };
  const error = await world.load(path, { makeRoom, ...options }).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(error instanceof SessionFileError)) throw new Error('It should be refused.', { cause: error });
  world.checkIntegrity();
  expect(world.sequences).toEqual([]);
  expect(world.pool.numFreeBlocks).toBe(world.pool.numBlocks);
  return { error, wantedBlocks };
}

/** A session of 11 tokens, 9 in the cache. */
function withFile(use: (path: string) => Promise<void>): Promise<void> {
  return inDirectory(async (directory) => {
    const world = new World();
    const path = join(directory, 'session');
    await world.save(path, await world.computed(11, 9, { salt: 'tenant', anchor: 2 }));
    await use(path);
  });
}

describe('loading', () => {
  it('notices a changed bit in any byte', () =>
    withFile(async (path) => {
      const intact = await readFile(path);
      for (let i = 0; i < intact.length; i++) {
        const bytes = Buffer.from(intact);
        bytes[i]! ^= 1 << (i % 8);
        await writeFile(path, bytes);
        await refusal(path);
      }
    }));

  it('notices any missing end, before it takes a block', () =>
    withFile(async (path) => {
      const intact = await readFile(path);
      for (let length = 0; length < intact.length; length++) {
        await writeFile(path, intact.subarray(0, length));
        const { error, wantedBlocks } = await refusal(path);
        expect(error.check).toBeOneOf(['size', 'header']);
        expect(wantedBlocks).toBe(false);
      }
    }));

  it('notices bytes that were added', () =>
    withFile(async (path) => {
      await writeFile(path, Buffer.concat([await readFile(path), Buffer.of(0)]));
      const { error } = await refusal(path);
      expect(error.message).toMatch(/its header calls for \d+ bytes, but it has \d+/);
    }));

  it.each([
    [
      'another model',
      'model',
      { fingerprint: 'model b' },
      {},
      /should be model b, but is model a. Load the model that/,
    ],
    ['a shorter context', 'tokens', { contextLength: 10 }, {}, /has 11 tokens, but the context holds 10/],
    ['fewer token ids', 'tokens', { vocabSize: 60 }, {}, /should be from 0 to 59, but one is 66/],
    ['another cache type', 'cache_dtype', {}, { dtype: 'f32' }, /should be f32, but is f16. Load the model with that/],
    ['another block size', 'cache_layout', {}, { blockSize: 8 }, /block size should be 8, but is 4/],
  ] as const)('refuses it for %s', (_, check, options, worldOptions, message) =>
    withFile(async (path) => {
      const { error, wantedBlocks } = await refusal(path, new World(worldOptions), options);
      expect(error.check).toBe(check);
      expect(error.message).toMatch(message);
      expect(wantedBlocks).toBe(false);
    }),
  );

  it.each([
    ['numerics version', 'numerics', { numericsVersion: 1 }, /numerics version should be \d+, but is 1/],
    ['layout', 'cache_layout', { cacheLayout: 'fake-0' }, /layout of its blocks should be fake-1, but is fake-0/],
    ['block bytes', 'cache_layout', { bytesPerBlock: 2 ** 50 }, /should be 16, but is 1125899906842624/],
    ['more tokens than can be', 'tokens', { numTokens: 2 ** 50 }, /has 1125899906842624 tokens/],
    ['more tokens than there are', 'size', { numTokens: 40 }, /calls for \d+ bytes/],
    ['fewer tokens than there are', 'size', { numTokens: 10 }, /calls for \d+ bytes/],
    ['more cached tokens than tokens', 'header', { numCachedTokens: 12 }, /"numCachedTokens" from 0 to 11/],
    ['an anchor past the end', 'header', { anchor: 12 }, /"anchor" from 0 to 11/],
    ['a number that is none', 'header', { numTokens: '11' }, /a whole number "numTokens"/],
    ['a fraction', 'header', { numCachedTokens: 8.5 }, /a whole number "numCachedTokens"/],
    ['a negative number', 'header', { numTokens: -1 }, /a whole number "numTokens"/],
    ['a number past all whole ones', 'header', { numTokens: 1e300 }, /a whole number "numTokens"/],
    ['no block size', 'header', { blockSize: 0 }, /"blockSize" from 1/],
    ['a salt that is no text', 'header', { salt: 7 }, /a text "salt"/],
    ['no fingerprint', 'header', { fingerprint: undefined }, /a text "fingerprint"/],
  ])('refuses a header with another value, digest and all: %s', (_, check, fields, message) =>
    withFile(async (path) => {
      await rewriteHeader(path, () => fields);
      const { error, wantedBlocks } = await refusal(path);
      expect(error.check).toBe(check);
      expect(error.message).toMatch(message);
      expect(wantedBlocks).toBe(false);
    }),
  );

  it.each(['', 'null', '[]', '7', '{', '{"numTokens":11}', '\u0000'])('refuses the header %j', (json) =>
    withFile(async (path) => {
      await rewriteJson(path, json);
      expect((await refusal(path)).error.check).toBe('header');
    }),
  );

  it.each([
    ['a header as long as can be said', 12, 2 ** 32 - 1, 'header', /at most \d+ bytes, but is said to have 4294967295/],
    ['a header that reaches past its end', 12, 5000, 'header', /at most \d{3} bytes, but is said to have 5000/],
    ['another version', 8, 2, 'version', /reads format 1, but the file has format 2/],
    ['another magic', 0, 0x46554747, 'format', /should begin with "HrthSess", but begins with "GGUF/],
  ])('refuses a file with %s', (_, offset, value, check, message) =>
    withFile(async (path) => {
      const bytes = await readFile(path);
      bytes.writeUInt32LE(value, offset);
      await writeFile(path, withDigest(bytes.subarray(0, -32)));
      const { error } = await refusal(path);
      expect(error.check).toBe(check);
      expect(error.message).toMatch(message);
    }),
  );

  it('refuses a file with a header longer than any', () =>
    withFile(async (path) => {
      await rewriteHeader(path, () => ({ salt: 'x'.repeat(70_000) }));
      expect((await refusal(path)).error.message).toMatch(/at most 65536 bytes/);
    }));

  it.each([
    ['below none', -1],
    ['past the vocabulary', vocabSize],
  ])('refuses a token id %s', (_, id) =>
    withFile(async (path) => {
      const bytes = await readFile(path);
      bytes.writeInt32LE(id, 16 + bytes.readUInt32LE(12));
      await writeFile(path, withDigest(bytes.subarray(0, -32)));
      expect((await refusal(path)).error.message).toMatch(`but one is ${id}`);
    }),
  );

  it('refuses what is no file, and does not wait for one', () =>
    inDirectory(async (directory) => {
      await promisify(execFile)('mkfifo', [join(directory, 'pipe')]);
      expect((await refusal(join(directory, 'pipe'))).error.message).toMatch(/is no regular file/);
      expect((await refusal(directory)).error.check).toBe('size');
      expect((await refusal(join(directory, 'missing'))).error.message).toMatch(/it cannot be read \(ENOENT/);
    }));

  it('asks for room, and gives all back when there is none', () =>
    withFile(async (path) => {
      const world = new World({ numBlocks: 4 });
      const other = await world.computed(8, 8);
      await expect(world.load(path)).rejects.toThrow(CacheExhaustedError);
      world.checkIntegrity();
      const makeRoom = (numBlocks: number) => {
        expect(numBlocks).toBe(3);
        other.releaseBlocks();
      };
      expect(await world.load(path, { makeRoom })).toMatchObject({ numCachedTokens: 9 });
      world.checkIntegrity();
    }));

  it.each(['writeBlocks', 'signal'])('gives all back when it is stopped: %s', (how) =>
    withFile(async (path) => {
      const world = new World();
      const controller = new AbortController();
      world.cache.writeBlocks = async () => {
        world.checkIntegrity();
        if (how === 'writeBlocks') throw new Error('broken');
        controller.abort();
      };
      const loading = world.load(path, { signal: controller.signal });
      await expect(loading).rejects.toThrow(how === 'writeBlocks' ? /broken/ : /aborted/);
      world.checkIntegrity();
      expect(world.pool.numFreeBlocks).toBe(8);
      expect(world.sequences).toEqual([]);
    }),
  );

  it('does not begin when the signal has fired', () =>
    withFile(async (path) => {
      await expect(new World().load(path, { signal: AbortSignal.abort() })).rejects.toMatchObject({ code: 'aborted' });
    }));
});
