import {
  type BlockTable,
  type CacheDtype,
  type CacheLayerSpec,
  type CacheOptions,
  f16Values,
  f32ToF16,
  InvalidArgumentError,
  type KvCache,
} from '@hearth/core';

/** The float of every f16 bit pattern. */
const halves = f16Values();

/** Keys or values of one layer, [numBlocks, blockSize, numKvHeads, headDim], as floats or as f16 bits. */
type Plane = Float32Array | Uint16Array;

interface LayerPlanes {
  readonly spec: CacheLayerSpec;
  readonly k: Plane;
  readonly v: Plane;
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
  #layers: readonly LayerPlanes[];

  constructor(layers: readonly CacheLayerSpec[], { dtype, blockSize, numBlocks }: CacheOptions) {
    this.dtype = dtype;
    this.blockSize = blockSize;
    this.numBlocks = numBlocks;
    this.#layers = layers.map((spec) => {
      const length = numBlocks * blockSize * spec.numKvHeads * spec.headDim;
      const plane = () => (dtype === 'f16' ? new Uint16Array(length) : new Float32Array(length));
      return { spec, k: plane(), v: plane() };
    });
    this.bytesPerBlock = this.#layers.reduce((sum, { k, v }) => sum + (k.byteLength + v.byteLength) / numBlocks, 0);
  }

  /**
   * Rounds `row` [numKvHeads · headDim] to the cache type and stores it at a slot (see `slotOf`).
   * @returns the index of the first value that the type cannot hold, or null; the row is stored up to it
   */
  write(layer: number, which: 'k' | 'v', slot: number, row: Float32Array): number | null {
    const plane = this.#layers[layer]![which];
    const start = slot * row.length;
    if (plane instanceof Float32Array) {
      plane.set(row, start);
      return null;
    }
    for (let i = 0; i < row.length; i++) {
      const bits = f32ToF16(row[i]!);
      if ((bits & 0x7c00) === 0x7c00) return i; // infinity or NaN
      plane[start + i] = bits;
    }
    return null;
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
    const { numKvHeads, headDim } = spec;
    for (let p = first; p < end; p++) {
      const start = (this.slotOf(table, p) * numKvHeads + kvHead) * headDim;
      const to = p * headDim;
      if (plane instanceof Float32Array) out.set(plane.subarray(start, start + headDim), to);
      else for (let d = 0; d < headDim; d++) out[to + d] = halves[plane[start + d]!]!;
    }
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
    for (const plane of this.#planes()) {
      const size = plane.length / this.numBlocks;
      for (const block of blocks) plane.fill(0, block * size, (block + 1) * size);
    }
  }

  async copyBlocks(from: Int32Array, to: Int32Array): Promise<void> {
    this.#checkBlocks(from);
    this.#checkBlocks(to);
    if (from.length !== to.length) {
      throw new InvalidArgumentError(`${from.length} blocks cannot be copied to ${to.length} blocks.`);
    }
    for (const plane of this.#planes()) {
      const size = plane.length / this.numBlocks;
      for (const [i, block] of from.entries()) plane.copyWithin(to[i]! * size, block * size, (block + 1) * size);
    }
  }

  async readBlocks(blocks: Int32Array): Promise<Uint8Array> {
    this.#checkBlocks(blocks);
    const bytes = new Uint8Array(blocks.length * this.bytesPerBlock);
    let at = 0;
    for (const block of blocks) {
      for (const plane of this.#planes()) {
        const part = blockBytes(plane, block, this.numBlocks);
        bytes.set(part, at);
        at += part.length;
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
    let at = 0;
    for (const block of blocks) {
      for (const plane of this.#planes()) {
        const part = blockBytes(plane, block, this.numBlocks);
        part.set(bytes.subarray(at, at + part.length));
        at += part.length;
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
    const width = planes.spec.numKvHeads * planes.spec.headDim;
    const read = (plane: Plane) => {
      const out = new Float32Array(numPositions * width);
      for (let p = 0; p < numPositions; p++) {
        const start = this.slotOf(blockTable, p) * width;
        for (let i = 0; i < width; i++) {
          const stored = plane[start + i]!;
          out[p * width + i] = plane instanceof Uint16Array ? halves[stored]! : stored;
        }
      }
      return out;
    };
    return { k: read(planes.k), v: read(planes.v) };
  }

  /** Lets the memory go; the cache is empty afterwards. */
  free(): void {
    this.#layers = [];
  }

  *#planes(): Iterable<Plane> {
    for (const { k, v } of this.#layers) {
      yield k;
      yield v;
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

function blockBytes(plane: Plane, block: number, numBlocks: number): Uint8Array {
  const size = plane.byteLength / numBlocks;
  return new Uint8Array(plane.buffer, plane.byteOffset + block * size, size);
}

/** The blocks of one sequence. */
export function sequenceBlocks({ blocks, maxBlocks }: BlockTable, sequence: number): Int32Array {
  return blocks.subarray(sequence * maxBlocks, (sequence + 1) * maxBlocks);
}
