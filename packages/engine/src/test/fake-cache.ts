import { type Batch, type CacheOptions, InvalidArgumentError, type KvCache } from '@hearth/core';

/** What a place of the cache holds when it holds no token. */
const zeroed = -1;
const neverZeroed = -2;

/**
 * A paged cache that stores the token ids themselves, and complains about every place that is read without having been
 * written, or written without having been zeroed first.
 */
export class FakeCache implements KvCache {
  readonly dtype;
  readonly blockSize: number;
  readonly numBlocks: number;
  readonly bytesPerBlock: number;
  readonly layout = 'fake-1';
  readonly #places: Int32Array;

  constructor(options: CacheOptions) {
    this.dtype = options.dtype;
    this.blockSize = options.blockSize;
    this.numBlocks = options.numBlocks;
    this.bytesPerBlock = options.blockSize * Int32Array.BYTES_PER_ELEMENT;
    this.#places = new Int32Array(options.numBlocks * options.blockSize).fill(neverZeroed);
  }

  async zeroBlocks(blocks: Int32Array): Promise<void> {
    for (const block of blocks) this.#block(block).fill(zeroed);
  }

  async copyBlocks(from: Int32Array, to: Int32Array): Promise<void> {
    for (const [i, block] of from.entries()) this.#block(to[i]!).set(this.#block(block));
  }

  async readBlocks(blocks: Int32Array): Promise<Uint8Array> {
    const bytes = new Uint8Array(blocks.length * this.bytesPerBlock);
    for (const [i, block] of blocks.entries()) {
      bytes.set(new Uint8Array(this.#block(block).slice().buffer), i * this.bytesPerBlock);
    }
    return bytes;
  }

  async writeBlocks(blocks: Int32Array, bytes: Uint8Array): Promise<void> {
    for (const [i, block] of blocks.entries()) {
      const part = bytes.slice(i * this.bytesPerBlock, (i + 1) * this.bytesPerBlock);
      this.#block(block).set(new Int32Array(part.buffer));
    }
  }

  async readLayer(): Promise<{ k: Float32Array; v: Float32Array }> {
    throw new InvalidArgumentError('The fake backend has no layers.');
  }

  /** Stores the tokens of a step at their positions, in the blocks of every group. */
  writeTokens(batch: Batch): void {
    for (let s = 0; s < batch.contextLens.length; s++) {
      for (let t = batch.cuSeqlensQ[s]!; t < batch.cuSeqlensQ[s + 1]!; t++) {
        for (let group = 0; group < batch.blockTables.length; group++) {
          const place = this.#place(batch, group, s, batch.positions[t]!);
          if (this.#places[place] === neverZeroed)
            throw new Error(`The block of position ${batch.positions[t]} was never zeroed.`);
          this.#places[place] = batch.tokenIds[t]!;
        }
      }
    }
  }

  /** The tokens that sequence `s` of the batch sees from `position`, itself included, read through its block tables. */
  readContext(batch: Batch, s: number, position: number): number[] {
    const context: number[] = [];
    for (let p = 0; p <= position; p++) {
      const seen = batch.blockTables.map((_, group) => this.#places[this.#place(batch, group, s, p)]!);
      if (seen.some((token) => token < 0)) throw new Error(`Position ${p} of sequence ${s} was never written.`);
      if (seen.some((token) => token !== seen[0])) throw new Error(`The cache groups disagree about position ${p}.`);
      context.push(seen[0]!);
    }
    return context;
  }

  #place(batch: Batch, group: number, s: number, position: number): number {
    const { blocks, maxBlocks } = batch.blockTables[group]!;
    const block = blocks[s * maxBlocks + Math.floor(position / this.blockSize)]!;
    return block * this.blockSize + (position % this.blockSize);
  }

  #block(block: number): Int32Array {
    if (!(block >= 0 && block < this.numBlocks)) throw new InvalidArgumentError(`There is no block ${block}.`);
    return this.#places.subarray(block * this.blockSize, (block + 1) * this.blockSize);
  }
}
