import { type CacheDtype, type CacheLayerSpec, f16Values, f32ToF16 } from '@hearth/core';
import { largestCode, roundToInteger, smallestAmax } from './int8-codes.ts';

const fround = Math.fround;

/** Keys or values of one layer, [slot, kvHead, headDim], in the type that the cache stores. */
export interface CachePlane {
  /** All that is stored. Slots are the first axis of each, so a block is one stretch of each. */
  readonly parts: readonly CachePart[];
  /**
   * Rounds `row` [numKvHeads · headDim] to the type and stores it.
   * @returns the index of the first value that the type cannot hold, or null; what is stored is then undefined
   */
  write(slot: number, row: Float32Array): number | null;
  /** Writes one head's stored values [headDim] to `out`, from `at` on. */
  read(slot: number, kvHead: number, out: Float32Array, at: number): void;
}

export type CachePart = Float32Array | Uint16Array | Int8Array;

export function createPlane(dtype: CacheDtype, layer: CacheLayerSpec, numSlots: number): CachePlane {
  switch (dtype) {
    case 'f32':
      return new FloatPlane(layer, numSlots);
    case 'f16':
      return new HalfPlane(layer, numSlots);
    case 'q8':
      return new Int8Plane(layer, numSlots);
  }
}

class FloatPlane implements CachePlane {
  readonly parts: readonly [Float32Array];
  readonly #layer: CacheLayerSpec;

  constructor(layer: CacheLayerSpec, numSlots: number) {
    this.#layer = layer;
    this.parts = [new Float32Array(numSlots * layer.numKvHeads * layer.headDim)];
  }

  write(slot: number, row: Float32Array): null {
    this.parts[0].set(row, slot * row.length);
    return null;
  }

  read(slot: number, kvHead: number, out: Float32Array, at: number): void {
    const { numKvHeads, headDim } = this.#layer;
    const start = (slot * numKvHeads + kvHead) * headDim;
    out.set(this.parts[0].subarray(start, start + headDim), at);
  }
}

/** The float of every f16 bit pattern. */
const halves = f16Values();

class HalfPlane implements CachePlane {
  readonly parts: readonly [Uint16Array];
  readonly #layer: CacheLayerSpec;

  constructor(layer: CacheLayerSpec, numSlots: number) {
    this.#layer = layer;
    this.parts = [new Uint16Array(numSlots * layer.numKvHeads * layer.headDim)];
  }

  write(slot: number, row: Float32Array): number | null {
    const [plane] = this.parts;
    const start = slot * row.length;
    for (let i = 0; i < row.length; i++) {
      const bits = f32ToF16(row[i]!);
      if ((bits & 0x7c00) === 0x7c00) return i; // infinity or NaN
      plane[start + i] = bits;
    }
    return null;
  }

  read(slot: number, kvHead: number, out: Float32Array, at: number): void {
    const { numKvHeads, headDim } = this.#layer;
    const start = (slot * numKvHeads + kvHead) * headDim;
    for (let d = 0; d < headDim; d++) out[at + d] = halves[this.parts[0][start + d]!]!;
  }
}

/** Integers of −127 to 127, and one f32 scale for the vector of each position and KV head. */
class Int8Plane implements CachePlane {
  readonly parts: readonly [codes: Int8Array, scales: Float32Array];
  readonly #layer: CacheLayerSpec;

  constructor(layer: CacheLayerSpec, numSlots: number) {
    this.#layer = layer;
    const numVectors = numSlots * layer.numKvHeads;
    this.parts = [new Int8Array(numVectors * layer.headDim), new Float32Array(numVectors)];
  }

  write(slot: number, row: Float32Array): number | null {
    const { numKvHeads, headDim } = this.#layer;
    for (let kvHead = 0; kvHead < numKvHeads; kvHead++) {
      const misfit = this.#writeVector(slot * numKvHeads + kvHead, row, kvHead * headDim);
      if (misfit !== null) return misfit;
    }
    return null;
  }

  #writeVector(vector: number, row: Float32Array, start: number): number | null {
    const { headDim } = this.#layer;
    const [codes, scales] = this.parts;
    let largest = start;
    for (let i = start; i < start + headDim; i++) {
      if (!Number.isFinite(row[i]!)) return i;
      if (Math.abs(row[i]!) > Math.abs(row[largest]!)) largest = i;
    }
    const amax = Math.abs(row[largest]!);
    const isZero = amax < smallestAmax;
    const scale = isZero ? 0 : fround(amax / largestCode);
    // Near the end of f32 a scale that was rounded up gives infinity for the largest code.
    if (!Number.isFinite(fround(largestCode * scale))) return largest;
    const inverse = isZero ? 0 : fround(largestCode / amax);
    scales[vector] = scale;
    for (let d = 0; d < headDim; d++) {
      codes[vector * headDim + d] = fround(row[start + d]! * inverse) + roundToInteger - roundToInteger;
    }
    return null;
  }

  read(slot: number, kvHead: number, out: Float32Array, at: number): void {
    const { numKvHeads, headDim } = this.#layer;
    const vector = slot * numKvHeads + kvHead;
    const [codes, scales] = this.parts;
    const scale = scales[vector]!;
    for (let d = 0; d < headDim; d++) out[at + d] = codes[vector * headDim + d]! * scale;
  }
}
