import { InvalidModelError, type RopeSpec, UnsupportedError } from '@hearth/core';
import type { ConfigReader } from './config-reader.ts';

/** How a model scales its rotary positions. */
export interface RopeConfig {
  readonly theta: number;
  /** Positions are divided by it (linear position interpolation, Chen et al. 2023); 1 for none. */
  readonly factor: number;
}

const supportedTypes = ['default', 'linear'];
const knownKeys: Readonly<Record<string, readonly string[]>> = {
  default: ['type', 'rope_type', 'rope_theta'],
  linear: ['type', 'rope_type', 'rope_theta', 'factor'],
};

/**
 * Reads the rotary settings of a config, in every spelling that is in use:
 *
 * - `rope_theta` beside `rope_scaling: {type | rope_type, factor}`, or `rope_scaling` null, empty or absent
 * - `rope_parameters: {rope_type, rope_theta, factor}` (Transformers 5)
 *
 * Two spellings of one setting may stand side by side when they agree. A setting that is not understood is refused by name:
 * ignoring it would give a model that answers nonsense.
 *
 * @throws InvalidModelError for contradictions and a missing factor
 * @throws UnsupportedError for other scaling types and for keys that are not known for the type
 */
export function parseRopeConfig(config: ConfigReader, defaultTheta: number): RopeConfig {
  const places = ['rope_scaling', 'rope_parameters'].flatMap((key) => {
    const scaling = config.object(key);
    return scaling && scaling.keys().length > 0 ? [{ key, ...parseScaling(scaling, key) }] : [];
  });
  const theta = agree('rope_theta', [
    ...(config.has('rope_theta') ? [{ key: 'config.json', value: config.number('rope_theta', thetaRange) }] : []),
    ...places.flatMap(({ key, theta }) => (theta === undefined ? [] : [{ key, value: theta }])),
  ]);
  const factor = agree(
    'the scaling factor',
    places.map(({ key, factor }) => ({ key, value: factor })),
  );
  return { theta: theta ?? defaultTheta, factor: factor ?? 1 };
}

const thetaRange = { min: 1, max: 1e15 };

function parseScaling(scaling: ConfigReader, key: string): { theta: number | undefined; factor: number } {
  const type = agree(
    'the type of scaling',
    ['rope_type', 'type']
      .filter((name) => scaling.has(name))
      .map((name) => ({ key: name, value: scaling.string(name, '') })),
  );
  if (type === undefined && scaling.has('factor')) {
    throw new InvalidModelError(`${key} has a factor, but neither rope_type nor type says what to do with it.`);
  }
  const known = knownKeys[type ?? 'default'];
  if (!known || !Object.hasOwn(knownKeys, type ?? 'default')) {
    throw new UnsupportedError(
      `RoPE scaling of type "${type}" (${key} in config.json) is not supported yet. Supported are ${supportedTypes.join(' and ')}.`,
      { details: { key, type } },
    );
  }
  const unknown = scaling.keys().filter((name) => !known.includes(name));
  if (unknown.length > 0) {
    throw new UnsupportedError(
      `${key} of type "${type ?? 'default'}" has ${unknown.join(', ')}, which this type does not use. Remove it, or correct the type.`,
      { details: { key, unknown } },
    );
  }
  return {
    theta: scaling.has('rope_theta') ? scaling.number('rope_theta', thetaRange) : undefined,
    factor: type === 'linear' ? scaling.number('factor', { min: 1, max: 1e6 }) : 1,
  };
}

/** The one value that several spellings give; undefined when there is none. */
function agree<T>(what: string, spellings: readonly { key: string; value: T }[]): T | undefined {
  const [first, ...others] = spellings;
  const other = others.find(({ value }) => value !== first?.value);
  if (first && other) {
    throw new InvalidModelError(
      `${what} is given twice and differently: ${first.value} by ${first.key}, ${other.value} by ${other.key}.`,
    );
  }
  return first?.value;
}

/**
 * The rotary frequencies of a head, invFreq[i] = theta^(−2i / rotaryDim) / factor, in the roundings of the numerics contract:
 * exponent, power and quotients each rounded to f32, as in Transformers.
 */
export function ropeSpec({ theta, factor }: RopeConfig, rotaryDim: number): RopeSpec {
  const invFreq = new Float32Array(rotaryDim / 2);
  for (let i = 0; i < invFreq.length; i++) {
    const power = Math.fround(theta ** Math.fround((2 * i) / rotaryDim));
    invFreq[i] = Math.fround(1 / power) / Math.fround(factor);
  }
  return { invFreq, rotaryDim, attentionScaling: 1 };
}
