import {
  type BlockTable,
  type CacheDtype,
  type CacheLayerSpec,
  type CacheOptions,
  InvalidArgumentError,
  type KvCache,
} from '@hearth/core';
import { type CachePart, type CachePlane, createPlane } from './cache-plane.ts';

interface LayerPlanes {
  readonly spec: CacheLayerSpec;
  readonly k: CachePlane;
  readonly v: CachePlane;
}

/**
 * The paged cache: fixed blocks of positions, the same block number for all layers of a group. A block's bytes, as
 * `readBlocks` gives them, are layer by layer its keys and then its values.
 */
export class ReferenceKvCache implements KvCache {
  readonly dtype: CacheDtype;
  readonly blockSize: number;
  readonly numBlocks: number;
  readonly bytesPerBlock: number;
  readonly layout = 'reference-1';
  readonly #stepEnd: () => Promise<void> | null;
  #layers: readonly LayerPlanes[];

  /** @param stepEnd settles when the step that runs now has ended; null when none runs */
  constructor(
    layers: readonly CacheLayerSpec[],
    { dtype, blockSize, numBlocks }: CacheOptions,
    stepEnd: () => Promise<void> | null = () => null,
  ) {
    this.#stepEnd = stepEnd;
    this.dtype = dtype;
    this.blockSize = blockSize;
    this.numBlocks = numBlocks;
    this.#layers = layers.map((spec) => {
      const plane = () => createPlane(dtype, spec, numBlocks * blockSize);
      return { spec, k: plane(), v: plane() };
    });
    this.bytesPerBlock = [...this.#parts()].reduce((sum, part) => sum + part.byteLength / numBlocks, 0);
  }

  /**
   * Rounds `row` [numKvHeads · headDim] to the cache type and stores it at a slot (see `slotOf`).
   * @returns the index of the first value that the type cannot hold, or null; what is stored is then undefined
   */
  write(layer: number, which: 'k' | 'v', slot: number, row: Float32Array): number | null {
    return this.#layers[layer]![which].write(slot, row);
  }

  /**
   * Copies one KV head's keys or values at positions [first, end) into `out`, which holds [position, headDim] from position 0.
   */
  readHead(
    layer: number,
    which: 'k' | 'v',
    kvHead: number,
    table: Int32Array,
    first: number,
    end: number,
    out: Float32Array,
  ): void {
    const { spec, [which]: plane } = this.#layers[layer]!;
    for (let p = first; p < end; p++) plane.read(this.slotOf(table, p), kvHead, out, p * spec.headDim);
  }

  /** Where position p lies: its place among all positions of all blocks. */
  slotOf(table: Int32Array, position: number): number {
    const { blockSize } = this;
    return table[Math.floor(position / blockSize)]! * blockSize + (position % blockSize);
  }

  layerSpec(layer: number): CacheLayerSpec {
    return this.#layers[layer]!.spec;
  }

  async zeroBlocks(blocks: Int32Array): Promise<void> {
    this.#checkBlocks(blocks);
    await this.#stepEnd();
    for (const part of this.#parts()) {
      const size = part.length / this.numBlocks;
      for (const block of blocks) part.fill(0, block * size, (block + 1) * size);
    }
  }

  async copyBlocks(from: Int32Array, to: Int32Array): Promise<void> {
    this.#checkBlocks(from);
    this.#checkBlocks(to);
    if (from.length !== to.length) {
      throw new InvalidArgumentError(`${from.length} blocks cannot be copied to ${to.length} blocks.`);
    }
    await this.#stepEnd();
    for (const part of this.#parts()) {
      const size = part.length / this.numBlocks;
      for (const [i, block] of from.entries()) part.copyWithin(to[i]! * size, block * size, (block + 1) * size);
    }
  }

  async readBlocks(blocks: Int32Array): Promise<Uint8Array> {
    this.#checkBlocks(blocks);
    await this.#stepEnd();
    const bytes = new Uint8Array(blocks.length * this.bytesPerBlock);
    let at = 0;
    for (const block of blocks) {
      for (const part of this.#parts()) {
        const stretch = blockBytes(part, block, this.numBlocks);
        bytes.set(stretch, at);
        at += stretch.length;
      }
    }
    return bytes;
  }

  async writeBlocks(blocks: Int32Array, bytes: Uint8Array): Promise<void> {
    this.#checkBlocks(blocks);
    if (bytes.length !== blocks.length * this.bytesPerBlock) {
      throw new InvalidArgumentError(
        `${blocks.length} blocks take ${blocks.length * this.bytesPerBlock} bytes, got ${bytes.length}.`,
      );
    }
    await this.#stepEnd();
    let at = 0;
    for (const block of blocks) {
      for (const part of this.#parts()) {
        const stretch = blockBytes(part, block, this.numBlocks);
        stretch.set(bytes.subarray(at, at + stretch.length));
        at += stretch.length;
      }
    }
  }

  async readLayer(
    layer: number,
    blockTable: Int32Array,
    numPositions: number,
  ): Promise<{ k: Float32Array; v: Float32Array }> {
    const planes = this.#layers[layer];
    if (!planes) throw new InvalidArgumentError(`There is no cache layer ${layer}, there are ${this.#layers.length}.`);
    const numBlocks = Math.ceil(numPositions / this.blockSize);
    if (!Number.isSafeInteger(numPositions) || numPositions < 0 || numBlocks > blockTable.length) {
      throw new InvalidArgumentError(
        `${numPositions} positions need ${numBlocks} blocks of ${this.blockSize}, the table has ${blockTable.length}.`,
      );
    }
    this.#checkBlocks(blockTable.subarray(0, numBlocks));
    const { numKvHeads, headDim } = planes.spec;
    const read = (plane: CachePlane) => {
      const out = new Float32Array(numPositions * numKvHeads * headDim);
      for (let p = 0; p < numPositions; p++) {
        const slot = this.slotOf(blockTable, p);
        for (let head = 0; head < numKvHeads; head++) plane.read(slot, head, out, (p * numKvHeads + head) * headDim);
      }
      return out;
    };
    return { k: read(planes.k), v: read(planes.v) };
  }

  /** Lets the memory go; the cache is empty afterwards. */
  free(): void {
    this.#layers = [];
  }

  *#parts(): Iterable<CachePart> {
    for (const { k, v } of this.#layers) {
      yield* k.parts;
      yield* v.parts;
    }
  }

  #checkBlocks(blocks: Int32Array): void {
    for (const block of blocks) {
      if (block < 0 || block >= this.numBlocks) {
        throw new InvalidArgumentError(`There is no block ${block}, the cache has blocks 0 to ${this.numBlocks - 1}.`);
      }
    }
  }
}

function blockBytes(part: CachePart, block: number, numBlocks: number): Uint8Array {
  const size = part.byteLength / numBlocks;
  return new Uint8Array(part.buffer, part.byteOffset + block * size, size);
}

/** The blocks of one sequence. */
export function sequenceBlocks({ blocks, maxBlocks }: BlockTable, sequence: number): Int32Array {
  return blocks.subarray(sequence * maxBlocks, (sequence + 1) * maxBlocks);
}
