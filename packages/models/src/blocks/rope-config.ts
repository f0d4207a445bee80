import { InvalidModelError, UnsupportedError } from '@hearth/core';
import type { ConfigReader } from './config-reader.ts';
import { parseScaling, scalingTypeName } from './rope/parse-scaling.ts';
import type { RopeConfig } from './rope/rope-spec.ts';

/** What rotary settings depend on beside their own keys. */
export interface RopeContext {
  readonly headDim: number;
  readonly maxPositionEmbeddings: number;
  /** `rope_theta` when it is not given. */
  readonly defaultTheta: number;
  /** Whether the family may rotate a part of each head (`partial_rotary_factor`). Default: false. */
  readonly isPartial?: boolean;
  /** What the family assumes when no key says it (Phi-3); only LongRoPE looks at it. */
  readonly originalMaxPositionEmbeddings?: number;
}

/**
 * Reads the rotary settings of a config, in every spelling that is in use:
 *
 * - `rope_theta` beside `rope_scaling: {type | rope_type, factor, ...}`, or `rope_scaling` null, empty or absent
 * - `rope_parameters: {rope_type, rope_theta, factor, ...}` (Transformers 5)
 *
 * Two spellings of one setting may stand side by side when they agree. A setting that is not understood is refused by name:
 * ignoring it would give a model that answers nonsense.
 *
 * @throws InvalidModelError for contradictions, missing and senseless values
 * @throws UnsupportedError for other scaling types and for keys that are not known for the type
 */
export function parseRopeConfig(config: ConfigReader, context: RopeContext): RopeConfig {
  return readRope(config, 'rope_theta', [config.object('rope_scaling'), config.object('rope_parameters')], context);
}

const layerTypes = ['full_attention', 'sliding_attention'];

/**
 * Reads the rotary settings of a model whose local layers have their own (Gemma 3): `rope_theta` and `rope_scaling` are those of
 * the global layers, `rope_local_base_freq` that of the local ones, which are not scaled. Transformers 5 writes
 * `rope_parameters: {full_attention: {...}, sliding_attention: {...}}` instead.
 */
export function parseLayerTypeRopes(
  config: ConfigReader,
  context: RopeContext,
  defaultLocalTheta: number,
): { global: RopeConfig; local: RopeConfig } {
  const byType = config.object('rope_parameters');
  const unknown = byType?.keys().filter((key) => !layerTypes.includes(key)) ?? [];
  if (unknown.length > 0) {
    throw new UnsupportedError(
      `rope_parameters in config.json has ${unknown.join(', ')}; in this family it has one object for each of ${layerTypes.join(', ')}.`,
      { details: { unknown } },
    );
  }
  const local = { ...context, defaultTheta: defaultLocalTheta };
  const [full, sliding] = layerTypes.map((type) => byType?.object(type));
  return {
    global: readRope(config, 'rope_theta', [config.object('rope_scaling'), full], context),
    local: readRope(config, 'rope_local_base_freq', [sliding], local),
  };
}

/**
 * @param thetaKey beside the objects
 * @param objects that may hold the scaling, and a `rope_theta` of their own
 */
function readRope(
  config: ConfigReader,
  thetaKey: string,
  objects: readonly (ConfigReader | undefined)[],
  context: RopeContext,
): RopeConfig {
  config.refuseUnless('rope_interleaved', [false], 'rotating neighbouring pairs');
  const places = objects.filter((object) => object !== undefined);
  const thetaRange = { min: 1, max: 1e15 };
  const thetas = [...readAll([config], thetaKey, thetaRange), ...readAll(places, 'rope_theta', thetaRange)];
  const theta = agree('The base of RoPE', thetas) ?? context.defaultTheta;
  const rotaryDim = readRotaryDim(config, places, context);
  const { maxPositionEmbeddings } = context;
  const scalingContext = { theta, rotaryDim, maxPositionEmbeddings, ...readOriginalLength(config, context) };
  const scalings = places.flatMap((place) => {
    const type = readType(place);
    const value = parseScaling(place, type ?? 'default', scalingContext);
    // An object without a type says nothing about scaling.
    return type === undefined ? [] : [{ by: place.where, value }];
  });
  const scaling = agree('The scaling of RoPE', scalings) ?? { type: 'default' };
  return { theta, rotaryDim, maxPositionEmbeddings, scaling };
}

/** The number that each place gives for a key, where it gives one. */
function readAll(places: readonly ConfigReader[], key: string, range: { min: number; max: number }) {
  return places
    .filter((place) => place.has(key))
    .map((place) => ({ by: `${key} in ${place.where}`, value: place.number(key, range) }));
}

function readOriginalLength(config: ConfigReader, { originalMaxPositionEmbeddings }: RopeContext) {
  const key = 'original_max_position_embeddings';
  return {
    originalMaxPositionEmbeddings: config.has(key)
      ? config.integer(key, { min: 2, max: 2 ** 24 })
      : originalMaxPositionEmbeddings,
  };
}

function readRotaryDim(config: ConfigReader, places: readonly ConfigReader[], context: RopeContext): number {
  const { headDim, isPartial = false } = context;
  const key = 'partial_rotary_factor';
  const factor = agree(key, readAll([config, ...places], key, { min: 0, max: 1 })) ?? 1;
  if (factor === 1) return headDim;
  if (!isPartial) {
    throw new UnsupportedError(
      `partial_rotary_factor is ${factor}: rotating a part of each head is not supported in this family (accepted: 1).`,
      { details: { key, value: factor } },
    );
  }
  const rotaryDim = Math.trunc(headDim * factor);
  if (rotaryDim < 2 || rotaryDim % 2 !== 0) {
    config.fail(key, `a part of head_dim (${headDim}) that is even, because RoPE rotates pairs`);
  }
  return rotaryDim;
}

/** The type of scaling; undefined when the object does not say. */
function readType(place: ConfigReader): string | undefined {
  const names = (['rope_type', 'type'] as const).flatMap((key) => {
    const value = scalingTypeName(place, key);
    return value === undefined ? [] : [{ by: key, value }];
  });
  const type = agree(`The type of scaling in ${place.where}`, names);
  if (type === undefined && place.has('factor')) {
    throw new InvalidModelError(
      `${place.where} has a factor, but neither rope_type nor type says what to do with it.`,
      { details: { where: place.where } },
    );
  }
  return type;
}

/** The one value that several spellings give; undefined when there is none. */
function agree<T>(what: string, spellings: readonly { readonly by: string; readonly value: T }[]): T | undefined {
  const [first, ...others] = spellings;
  const other = others.find(({ value }) => JSON.stringify(value) !== JSON.stringify(first?.value));
  if (first && other) {
    const [a, b] = [first, other].map(
      ({ by, value }) => `${typeof value === 'object' ? JSON.stringify(value).slice(0, 200) : value} by ${by}`,
    );
    throw new InvalidModelError(`${what} is given twice and differently: ${a}, ${b}.`);
  }
  return first?.value;
}
