import { baseFrequencies } from './base-frequencies.ts';
import type { DynamicScaling } from './rope-scaling.ts';

/**
 * Dynamic NTK: beyond the original context the base is multiplied by (factor · L / original − (factor − 1))^(d / (d − 2)), d
 * being the rotating dimensions. The base is a Python number in Transformers, so it is computed in f64 and then rounded.
 *
 * Transformers makes new frequencies with every token that makes the sequence longer, and rotates old keys by old ones. Here L is
 * the configured context length: all keys have the same frequencies, and how a prompt was cut into chunks changes nothing.
 */
export function dynamicFrequencies(
  theta: number,
  rotaryDim: number,
  { factor, originalMaxPositionEmbeddings: original }: DynamicScaling,
  contextLength: number,
): Float32Array {
  const length = contextLength > original ? contextLength : original;
  const growth = (factor * length) / original - (factor - 1);
  return baseFrequencies(theta * growth ** (rotaryDim / (rotaryDim - 2)), rotaryDim);
}
