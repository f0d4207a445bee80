import { type CacheOptions, InvalidArgumentError, type KvCache } from '@hearth/core';
import type { NativeExecutable } from './addon-types.ts';
import { translatingErrors } from './native-errors.ts';

/** The paged cache of a CPU executable. Operations run on the step thread, in the order of their calls, between steps. */
export class CpuKvCache implements KvCache {
  readonly dtype;
  readonly blockSize;
  readonly numBlocks;
  readonly bytesPerBlock: number;
  /** Of `native/cache/paged_cache.h`. */
  readonly layout = 'cpu-1';
  readonly #native: () => NativeExecutable;

  /** @param native the executable; throws when it was disposed */
  constructor(native: () => NativeExecutable, options: CacheOptions) {
    this.#native = native;
    this.dtype = options.dtype;
    this.blockSize = options.blockSize;
    this.numBlocks = options.numBlocks;
    this.bytesPerBlock = native().bytesPerBlock;
  }

  zeroBlocks(blocks: Int32Array): Promise<void> {
    return translatingErrors(() => this.#native().zeroBlocks(blocks));
  }

  async copyBlocks(from: Int32Array, to: Int32Array): Promise<void> {
    if (from.length !== to.length) {
      throw new InvalidArgumentError(`Cannot copy ${from.length} blocks to ${to.length}.`);
    }
    return translatingErrors(() => this.#native().copyBlocks(from, to));
  }

  readBlocks(blocks: Int32Array): Promise<Uint8Array> {
    return translatingErrors(() => this.#native().readBlocks(blocks));
  }

  writeBlocks(blocks: Int32Array, bytes: Uint8Array): Promise<void> {
    return translatingErrors(() => this.#native().writeBlocks(blocks, bytes));
  }

  readLayer(
    layer: number,
    blockTable: Int32Array,
    numPositions: number,
  ): Promise<{ k: Float32Array; v: Float32Array }> {
    return translatingErrors(() => this.#native().readLayer(layer, blockTable, numPositions));
  }
}
