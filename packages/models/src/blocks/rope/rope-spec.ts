import type { RopeSpec } from '@hearth/core';
import { baseFrequencies, linearFrequencies } from './base-frequencies.ts';
import { dynamicFrequencies } from './dynamic.ts';
import { llama3Frequencies } from './llama3.ts';
import { longRopeFrequencies } from './longrope.ts';
import type { RopeScaling } from './rope-scaling.ts';
import { yarnFrequencies } from './yarn.ts';

/** Rotary positions of a model, parsed (see `parseRopeConfig`). */
export interface RopeConfig {
  readonly theta: number;
  /** Leading dimensions of a head that rotate. */
  readonly rotaryDim: number;
  readonly maxPositionEmbeddings: number;
  readonly scaling: RopeScaling;
}

/**
 * The frequencies of a model, in the roundings of Transformers with PyTorch in float32 (docs/numerics.md).
 *
 * @param contextLength the configured one, which dynamic scaling and LongRoPE are fixed for (the others do not look at it); a
 *   longer one than the model can address counts as that
 */
export function ropeSpec(rope: RopeConfig, contextLength: number = rope.maxPositionEmbeddings): RopeSpec {
  const { rotaryDim, scaling } = rope;
  const attentionScaling = 'attentionFactor' in scaling ? scaling.attentionFactor : 1;
  const invFreq = frequencies(rope, Math.min(contextLength, maxContextLength(rope)));
  return { invFreq, rotaryDim, attentionScaling: Math.fround(attentionScaling) };
}

function frequencies({ theta, rotaryDim, scaling }: RopeConfig, contextLength: number): Float32Array {
  switch (scaling.type) {
    case 'default':
      return baseFrequencies(theta, rotaryDim);
    case 'linear':
      return linearFrequencies(theta, rotaryDim, scaling.factor);
    case 'dynamic':
      return dynamicFrequencies(theta, rotaryDim, scaling, contextLength);
    case 'llama3':
      return llama3Frequencies(theta, rotaryDim, scaling);
    case 'yarn':
      return yarnFrequencies(theta, rotaryDim, scaling);
    case 'longrope':
      return longRopeFrequencies(theta, rotaryDim, scaling, contextLength);
  }
}

/** Angles are exact enough up to here (docs/numerics.md). */
const mostPositions = 2 ** 20;

/**
 * Positions that a model can address. `max_position_embeddings` mostly says it. Dynamic scaling, YaRN and LongRoPE reach
 * `factor` times the original length, which is more where `max_position_embeddings` is still the length before scaling: always
 * with dynamic scaling, and with the others when the config names no original length.
 */
export function maxContextLength({ scaling, maxPositionEmbeddings }: RopeConfig): number {
  const scaled =
    'originalMaxPositionEmbeddings' in scaling && scaling.type !== 'llama3'
      ? Math.floor(scaling.originalMaxPositionEmbeddings * scaling.factor)
      : 0;
  return Math.min(Math.max(maxPositionEmbeddings, scaled), mostPositions);
}
