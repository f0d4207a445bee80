import { InvalidModelError, UnsupportedError } from '@hearth/core';
import type { ConfigReader } from '../config-reader.ts';
import { longRopeAttentionFactor } from './longrope.ts';
import type { RopeScaling } from './rope-scaling.ts';
import { yarnMscale } from './yarn.ts';

/** What scaling depends on beside its own keys. */
export interface ScalingContext {
  readonly theta: number;
  readonly rotaryDim: number;
  readonly maxPositionEmbeddings: number;
  /** `original_max_position_embeddings` beside `rope_scaling` instead of in it (Phi-3), or what the family assumes. */
  readonly originalMaxPositionEmbeddings: number | undefined;
}

interface ScalingType {
  /** What it reads. Another key means that something else is meant. */
  readonly keys: readonly string[];
  parse(scaling: ConfigReader, context: ScalingContext): RopeScaling;
}

const length = { min: 2, max: 2 ** 24 };
const positive = { min: 1e-6, max: 1e6 };
const original = 'original_max_position_embeddings';

const scalingTypes: ReadonlyMap<string, ScalingType> = new Map<string, ScalingType>([
  ['default', { keys: [], parse: () => ({ type: 'default' }) }],
  ['linear', { keys: ['factor'], parse: (scaling) => ({ type: 'linear', factor: readFactor(scaling) }) }],
  ['dynamic', { keys: ['factor', original], parse: parseDynamic }],
  ['llama3', { keys: ['factor', 'low_freq_factor', 'high_freq_factor', original], parse: parseLlama3 }],
  [
    'yarn',
    {
      keys: ['factor', 'attention_factor', 'beta_fast', 'beta_slow', 'mscale', 'mscale_all_dim', 'truncate', original],
      parse: parseYarn,
    },
  ],
  ['longrope', { keys: ['short_factor', 'long_factor', 'factor', 'attention_factor', original], parse: parseLongRope }],
]);

/** Names that a type went by before. */
const oldNames: ReadonlyMap<string, string> = new Map([['su', 'longrope']]);

/** Keys that stand in the same object and are read by `parseRopeConfig`. */
const commonKeys = ['type', 'rope_type', 'rope_theta', 'partial_rotary_factor'];

/** The type that `rope_type` or `type` names; undefined when neither is there. */
export function scalingTypeName(scaling: ConfigReader, key: 'rope_type' | 'type'): string | undefined {
  if (!scaling.has(key)) return undefined;
  const name = scaling.string(key, '');
  return oldNames.get(name) ?? name;
}

/**
 * Reads the keys of one scaling type.
 *
 * @throws InvalidModelError for missing, senseless and contradictory values
 * @throws UnsupportedError for a type that is not known and for keys that the type does not use
 */
export function parseScaling(scaling: ConfigReader, typeName: string, context: ScalingContext): RopeScaling {
  const type = scalingTypes.get(typeName);
  if (!type) {
    throw new UnsupportedError(
      `RoPE scaling of type "${typeName}" (${scaling.where}) is not supported yet. Supported are ${[...scalingTypes.keys()].join(', ')}.`,
      { details: { where: scaling.where, type: typeName } },
    );
  }
  const unknown = scaling.keys().filter((key) => !commonKeys.includes(key) && !type.keys.includes(key));
  if (unknown.length > 0) {
    throw new UnsupportedError(
      `${scaling.where} of type "${typeName}" has ${unknown.join(', ')}, which this type does not use. Remove it, or correct the type.`,
      { details: { where: scaling.where, unknown } },
    );
  }
  return type.parse(scaling, context);
}

function readFactor(scaling: ConfigReader): number {
  return scaling.number('factor', { min: 1, max: 1e6 });
}

function parseDynamic(scaling: ConfigReader, { rotaryDim, maxPositionEmbeddings }: ScalingContext): RopeScaling {
  if (rotaryDim < 4) scaling.fail('rope_type', 'another one where fewer than 4 dimensions rotate');
  // Transformers scales from max_position_embeddings, whatever this key says.
  if (scaling.integer(original, { ...length, default: maxPositionEmbeddings }) !== maxPositionEmbeddings) {
    scaling.fail(original, `max_position_embeddings (${maxPositionEmbeddings}) with dynamic scaling`);
  }
  return {
    type: 'dynamic',
    factor: readFactor(scaling),
    originalMaxPositionEmbeddings: maxPositionEmbeddings,
  };
}

function parseLlama3(scaling: ConfigReader): RopeScaling {
  const lowFreqFactor = scaling.number('low_freq_factor', positive);
  const highFreqFactor = scaling.number('high_freq_factor', positive);
  if (highFreqFactor <= lowFreqFactor) scaling.fail('high_freq_factor', `above low_freq_factor (${lowFreqFactor})`);
  return {
    type: 'llama3',
    factor: readFactor(scaling),
    lowFreqFactor,
    highFreqFactor,
    originalMaxPositionEmbeddings: scaling.integer(original, length),
  };
}

function parseYarn(scaling: ConfigReader, { theta, maxPositionEmbeddings }: ScalingContext): RopeScaling {
  if (theta <= 1) scaling.fail('rope_type', 'another one where rope_theta is 1');
  const factor = readFactor(scaling);
  const betaFast = scaling.number('beta_fast', { ...positive, default: 32 });
  const betaSlow = scaling.number('beta_slow', { ...positive, default: 1 });
  if (betaFast < betaSlow) scaling.fail('beta_fast', `at least beta_slow (${betaSlow})`);
  const mscale = scaling.number('mscale', { min: 0, max: 1e6, default: 0 });
  const mscaleAllDim = scaling.number('mscale_all_dim', { min: 0, max: 1e6, default: 0 });
  // Transformers looks at the two only when neither is 0.
  const temperature =
    mscale > 0 && mscaleAllDim > 0 ? yarnMscale(factor, mscale) / yarnMscale(factor, mscaleAllDim) : yarnMscale(factor);
  return {
    type: 'yarn',
    factor,
    originalMaxPositionEmbeddings: scaling.integer(original, { ...length, default: maxPositionEmbeddings }),
    betaFast,
    betaSlow,
    truncate: scaling.boolean('truncate', true),
    attentionFactor: scaling.number('attention_factor', { ...positive, default: temperature }),
  };
}

function parseLongRope(scaling: ConfigReader, context: ScalingContext): RopeScaling {
  const { maxPositionEmbeddings, rotaryDim } = context;
  // A divisor below 2/π would take angles out of the range of docs/numerics.md.
  const divisors = { length: rotaryDim / 2, min: 2 / Math.PI, max: 1e6 };
  const shortFactor = scaling.numbers('short_factor', divisors);
  const longFactor = scaling.numbers('long_factor', divisors);
  const originalLength = scaling.has(original) ? scaling.integer(original, length) : undefined;
  const outside = context.originalMaxPositionEmbeddings;
  if (originalLength !== undefined && outside !== undefined && originalLength !== outside) {
    scaling.fail(original, `what config.json says outside of it (${outside})`);
  }
  const known = originalLength ?? outside;
  const factor = known === undefined ? readFactor(scaling) : maxPositionEmbeddings / known;
  if (scaling.has('factor') && Math.abs(readFactor(scaling) / factor - 1) > 1e-6) {
    throw new InvalidModelError(
      `factor in ${scaling.where} is ${readFactor(scaling)}, but max_position_embeddings / ${original} is ${factor}.`,
      { details: { where: scaling.where, factor: readFactor(scaling), ratio: factor } },
    );
  }
  const originalMaxPositionEmbeddings = known ?? maxPositionEmbeddings;
  const temperature = longRopeAttentionFactor(factor, originalMaxPositionEmbeddings);
  return {
    type: 'longrope',
    shortFactor,
    longFactor,
    factor,
    originalMaxPositionEmbeddings,
    attentionFactor: scaling.number('attention_factor', { ...positive, default: temperature }),
  };
}
