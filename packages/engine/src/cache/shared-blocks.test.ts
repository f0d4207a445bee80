import type { KvCache } from '@hearth/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { CacheExhaustedError } from '../errors.ts';
import { Sequence } from '../session/sequence.ts';
import { BlockPool } from './block-pool.ts';
import { PrefixCache } from './prefix-cache.ts';
import { prepareBlocks } from './prepare-blocks.ts';
import { SequenceBlocks } from './sequence-blocks.ts';

const blockSize = 3;

/**
 * What a cache would hold: at each position of a block everything that its keys and values depend on, which is the salt and
 * all tokens up to there. Blocks that were handed out hold garbage until they are prepared.
 */
class ShadowCache {
  readonly #places: string[];

  constructor(numBlocks: number) {
    this.#places = new Array(numBlocks * blockSize).fill('garbage');
  }

  readonly cache = {
    zeroBlocks: async (blocks: Int32Array) => {
      for (const block of blocks) this.#places.fill('zero', block * blockSize, (block + 1) * blockSize);
    },
    copyBlocks: async (from: Int32Array, to: Int32Array) => {
      for (const [i, block] of from.entries()) {
        this.#places.copyWithin(to[i]! * blockSize, block * blockSize, (block + 1) * blockSize);
      }
    },
  } as Pick<KvCache, 'zeroBlocks' | 'copyBlocks'> as KvCache;

  write(sequence: Sequence, position: number): void {
    const place = this.#place(sequence, position);
    if (this.#places[place] === 'garbage') throw new Error(`The block of position ${position} was never prepared.`);
    this.#places[place] = contentAt(sequence, position);
  }

  /** Checks that the sequence reads its own tokens through its table. */
  checkReads(sequence: Sequence): void {
    for (let position = 0; position < sequence.numCachedTokens; position++) {
      const found = this.#places[this.#place(sequence, position)];
      // Not `expect`: this runs a million times.
      if (found !== contentAt(sequence, position)) {
        throw new Error(`Position ${position} should hold "${contentAt(sequence, position)}", but holds "${found}".`);
      }
    }
  }

  #place({ blocks }: Sequence, position: number): number {
    return blocks.table[Math.floor(position / blockSize)]! * blockSize + (position % blockSize);
  }
}

function contentAt({ tokenIds, cacheSalt }: Sequence, position: number): string {
  return `${cacheSalt} ${tokenIds.slice(0, position + 1)}`;
}

/** Sequences of one pool, and all that a scheduler does to them. */
class World {
  readonly pool: BlockPool;
  readonly prefixCache: PrefixCache;
  readonly shadow: ShadowCache;
  readonly sequences: Sequence[] = [];

  constructor(numBlocks: number) {
    this.pool = new BlockPool(numBlocks);
    this.prefixCache = new PrefixCache(this.pool, blockSize);
    this.shadow = new ShadowCache(numBlocks);
  }

  create(salt: string, tokenIds: number[]): void {
    const sequence = new Sequence(new SequenceBlocks(this.pool, blockSize, this.prefixCache, salt));
    sequence.append(tokenIds);
    this.sequences.push(sequence);
  }

  /** Gives the sequence blocks for its next tokens, at most `most`, when there are enough. Returns the number. */
  grow({ blocks, length, numCachedTokens }: Sequence, most: number): number {
    const end = Math.min(length, numCachedTokens + most);
    const numAvailable = this.pool.numAvailableBlocks;
    if (blocks.numMissingBlocks(end, numCachedTokens) > numAvailable) {
      expect(() => blocks.growTo(end, numCachedTokens)).toThrow(CacheExhaustedError);
      return 0;
    }
    blocks.growTo(end, numCachedTokens);
    expect(blocks.numMissingBlocks(end, numCachedTokens)).toBe(0);
    return end - numCachedTokens;
  }

  /** One step with the next tokens of several sequences, at most `numTokens` of each. */
  async step(parts: { sequence: Sequence; numTokens: number }[]): Promise<void> {
    const batch = parts.map(({ sequence, numTokens }) => ({ sequence, numTokens: this.grow(sequence, numTokens) }));
    await prepareBlocks(this.shadow.cache, this.pool);
    for (const { sequence } of batch) this.shadow.checkReads(sequence);
    for (const { sequence, numTokens } of batch) {
      for (let i = 0; i < numTokens; i++) {
        const position = sequence.numCachedTokens + i;
        const block = sequence.blocks.table[Math.floor(position / blockSize)]!;
        expect([this.pool.refCount(block), this.pool.isPublished(block)]).toEqual([1, false]);
        this.shadow.write(sequence, position);
      }
    }
    for (const { sequence, numTokens } of batch) sequence.numCachedTokens += numTokens;
    for (const sequence of this.sequences) this.shadow.checkReads(sequence);
  }

  checkIntegrity(): void {
    this.pool.checkIntegrity(this.sequences.flatMap(({ blocks }) => blocks.table));
    this.prefixCache.checkIntegrity();
  }
}

/** What can happen to the sequence that was picked. */
const actions = {
  append: (_world, sequence, _numTokens, tokenIds) => sequence.append(tokenIds),
  step: (world, sequence, numTokens) => world.step([{ sequence, numTokens }]),
  stepAndPublish: async (world, sequence, numTokens) => {
    await world.step([{ sequence, numTokens }]);
    sequence.publishPrefix();
  },
  stepOfAll: (world, _, numTokens) => world.step(world.sequences.map((sequence) => ({ sequence, numTokens }))),
  planAndKeep: (world, sequence, numTokens) => world.grow(sequence, numTokens),
  planAndGiveUp: (world, sequence, numTokens) => {
    world.grow(sequence, numTokens);
    sequence.blocks.shrinkTo(sequence.numCachedTokens);
  },
  attach: (_, sequence) => {
    const before = sequence.numCachedTokens;
    sequence.attachPrefix(sequence.length);
    expect(sequence.numCachedTokens).toBeGreaterThanOrEqual(before);
  },
  truncate: (_, sequence, numTokens) => sequence.truncate(Math.max(0, sequence.length - numTokens)),
  fork: ({ sequences }, sequence) => sequences.push(sequence.fork()),
  releaseBlocks: (_, sequence) => sequence.releaseBlocks(),
  end: ({ sequences }, sequence) => {
    sequence.releaseBlocks();
    sequences.splice(sequences.indexOf(sequence), 1);
  },
} satisfies Record<string, (world: World, sequence: Sequence, numTokens: number, tokenIds: number[]) => unknown>;

it('lets every sequence read its own tokens, whatever is shared, published, evicted and given up', async () => {
  const call = fc.record({
    action: fc.constantFrom(...(Object.keys(actions) as (keyof typeof actions)[])),
    which: fc.nat(4),
    numTokens: fc.integer({ min: 1, max: 7 }),
    // Two tokens and short blocks, so that prefixes are equal often, and differ late.
    tokenIds: fc.array(fc.nat(1), { minLength: 4, maxLength: 9 }),
    salt: fc.constantFrom('', 'a'),
  });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 4, max: 14 }),
      fc.array(call, { minLength: 60, maxLength: 60 }),
      async (numBlocks, calls) => {
        const world = new World(numBlocks);
        for (const { action, which, numTokens, tokenIds, salt } of calls) {
          if (which >= world.sequences.length) world.create(salt, tokenIds);
          else await actions[action](world, world.sequences[which]!, numTokens, tokenIds);
          world.checkIntegrity();
        }
        // What is pending is done before the last look.
        await world.step([]);
      },
    ),
    { numRuns: 300 },
  );
});
