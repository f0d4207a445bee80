import type { WeightSpec } from '@hearth/core';

/** A tensor as a Hugging Face checkpoint holds it. */
export interface PlainTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly values: Float32Array;
}

/**
 * Random weights for a model, the same on every machine. Matrices keep the size of what they multiply (standard deviation
 * 1 / √columns), norms are near 1, biases small.
 */
export function randomTensors(specs: readonly WeightSpec[]): PlainTensor[] {
  const random = new LinearCongruential(20261130);
  return specs.map(({ name, shape, transposed, plus = 0 }) => {
    const isVector = shape.length === 1;
    const isTable = /embed_tokens|wte|wpe/.test(name);
    const isNorm = isVector && !name.endsWith('.bias');
    const deviation = isVector ? 0.1 : isTable ? 0.5 : 1 / Math.sqrt(shape[1]!);
    const mean = isNorm ? 1 - plus : 0;
    const length = shape.reduce((product, size) => product * size, 1);
    // A uniform distribution on [−a, a] has the standard deviation a / √3.
    const values = Float32Array.from({ length }, () => mean + random.uniform() * deviation * Math.sqrt(3));
    return { name, shape: transposed ? [...shape].reverse() : shape, values };
  });
}

/** Numerical Recipes' generator (Press et al. 1992): its upper bits are good enough to fill a matrix. */
export class LinearCongruential {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** 0 to 2^32 − 1 */
  next(): number {
    this.#state = (Math.imul(this.#state, 1664525) + 1013904223) >>> 0;
    return this.#state;
  }

  /** −1 to 1 */
  uniform(): number {
    return this.next() / 2 ** 31 - 1;
  }
}
