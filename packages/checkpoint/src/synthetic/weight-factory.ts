import { InvalidArgumentError, type WeightDtype, weightByteLength, weightDtypes } from '@hearth/core';
import { encodeElements } from '../tensor/encode.ts';
import type { TensorToWrite } from '../tensor/tensor-to-write.ts';
import { randomPool, SeededRandom, walkPool } from './random-weights.ts';

/** Makes tensors whose contents follow from seed and name. */
export class WeightFactory {
  readonly #seed: number;
  /** Tensors of the same type and deviation share a pool. */
  readonly #pools = new Map<string, Uint8Array>();

  constructor(seed: number) {
    this.#seed = seed;
  }

  matrix(name: string, dtype: WeightDtype, rows: number, columns: number, deviation: number): TensorToWrite {
    const { blockElements, blockBytes } = weightDtypes[dtype];
    if (columns % blockElements !== 0) {
      throw new InvalidArgumentError(
        `Tensor "${name}" has ${columns} columns; ${dtype} takes multiples of ${blockElements}.`,
      );
    }
    return {
      name,
      dtype,
      shape: [rows, columns],
      data: () => {
        const pool = this.#pool(dtype, deviation);
        const startBlock = hashText(name, this.#seed) % (pool.length / blockBytes);
        return walkPool(pool, startBlock * blockBytes, weightByteLength(dtype, rows * columns));
      },
    };
  }

  /** Uniform in [centre − spread, centre + spread]. */
  vector(name: string, length: number, centre: number, spread: number): TensorToWrite {
    return {
      name,
      dtype: 'f32',
      shape: [length],
      data: () => {
        const random = new SeededRandom(hashText(name, this.#seed));
        return encodeElements(
          'f32',
          Float32Array.from({ length }, () => centre + spread * random.uniform()),
        );
      },
    };
  }

  #pool(dtype: WeightDtype, deviation: number): Uint8Array {
    const key = `${dtype} ${deviation}`;
    const pool = this.#pools.get(key) ?? randomPool(dtype, deviation, hashText(key, this.#seed));
    this.#pools.set(key, pool);
    return pool;
  }
}

/** FNV-1a over UTF-16 code units, started from the seed. */
export function hashText(text: string, seed: number): number {
  let hash = (0x811c9dc5 ^ seed) >>> 0;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193) >>> 0;
  return hash;
}
