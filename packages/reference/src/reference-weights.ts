import { DisposedError, InvalidArgumentError, type WeightId, type WeightSpec, type Weights } from '@hearth/core';
import type { LoadedWeights } from './load-weights.ts';
import { type Matrix, matrixBytes } from './matrix.ts';

/** Weights of the reference backend. Counts the executables that read it. */
export class ReferenceWeights implements Weights {
  readonly packedBytes: number;
  readonly sourceBytes: number;
  readonly #onDispose: () => void;
  #loaded: LoadedWeights | null;
  #numUsers = 0;

  constructor(loaded: LoadedWeights, onDispose: () => void) {
    this.#loaded = loaded;
    this.#onDispose = onDispose;
    this.sourceBytes = loaded.sourceBytes;
    this.packedBytes =
      sum([...loaded.matrices.values()].map(matrixBytes)) + sum([...loaded.vectors.values()].map((v) => v.byteLength));
  }

  /** The weights of a program's table by id, for one more executable; `release` when it is gone. */
  bind(specs: readonly WeightSpec[]): BoundWeights {
    if (!this.#loaded) throw new DisposedError('set of weights');
    const { matrices, vectors } = this.#loaded;
    const bound = specs.map(({ name, shape }): Matrix | Float32Array => {
      const weight = shape.length === 2 ? matrices.get(name) : vectors.get(name);
      if (!weight) throw new InvalidArgumentError(`The program reads ${name}, which these weights do not have.`);
      const found = weight instanceof Float32Array ? [weight.length] : [weight.rows, weight.columns];
      if (found.join() !== shape.join()) {
        throw new InvalidArgumentError(`The program reads ${name} as [${shape}], these weights have [${found}].`);
      }
      return weight;
    });
    this.#numUsers++;
    return {
      matrix: (id) => bound[id] as Matrix,
      vector: (id) => bound[id] as Float32Array,
      release: () => {
        this.#numUsers--;
      },
    };
  }

  async dispose(): Promise<void> {
    if (this.#numUsers > 0) {
      throw new InvalidArgumentError(
        `These weights are read by ${this.#numUsers} executables. Dispose the executables first.`,
      );
    }
    if (!this.#loaded) return;
    this.#loaded = null;
    this.#onDispose();
  }
}

/** Weights by their ids in one program. */
export interface BoundWeights {
  matrix(id: WeightId): Matrix;
  vector(id: WeightId): Float32Array;
  release(): void;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
