import type { ChatTemplateLimits } from '@hearth/chat-format';
import type { QuantizePlan, StorageDtype } from '@hearth/checkpoint';
import {
  type Backend,
  type CacheDtype,
  type CacheLayerSpec,
  InvalidArgumentError,
  type PackedCacheOptions,
} from '@hearth/core';
import type { SpeculationOptions } from '@hearth/speculative';
import type { TokenizerLimits } from '@hearth/tokenizer';
import type { LoopKind } from '../step/task-loop.ts';
import { kvBytesPerToken } from './model-info.ts';
import type { LoadProgress } from './progress.ts';

/** Positions of a session unless the caller says otherwise: enough for a long conversation, and memory to match. */
export const defaultContextLength = 4096;

export interface PrepareModelOptions {
  /** What runs the model. It stays the caller's, to be disposed after the model, unless `ownsBackend` is set. */
  readonly backend: Backend;
  /** Positions that a session may have. Default: 4096, or what the model was made for if that is less. */
  readonly contextLength?: number | undefined;
  /**
   * Types to put the weights into while they are loaded: one for the matrices, or a plan. Default: as the file has them.
   * The model is then the one that a file written by that plan holds, to the bit.
   */
  readonly quantize?: StorageDtype | QuantizePlan | undefined;
  /** Bounds of the workers that tokenize and render. */
  readonly limits?: ModelLimits | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

export interface ModelLimits {
  readonly tokenizer?: TokenizerLimits;
  readonly chatTemplate?: ChatTemplateLimits;
}

export interface LoadWeightsOptions {
  /**
   * Type of keys and values in the cache: `f16` (default), `q8` for twice the positions in the same memory, `f32` for the
   * models whose keys f16 cannot hold. Other than `cacheTokens` it changes results.
   */
  readonly cacheDtype?: CacheDtype | undefined;
  /** Positions that the cache holds over all sessions. Default: `contextLength`, or what `cacheBytes` holds. */
  readonly cacheTokens?: number | undefined;
  /** Memory for the cache in bytes, instead of `cacheTokens`. */
  readonly cacheBytes?: number | undefined;
  /** Whether prompts may begin with what earlier requests have computed. It changes no result. Default: true. */
  readonly prefixCache?: boolean | undefined;
  /** Most requests that run at a time, in one batch; the others wait. It changes no result. Default: 32. */
  readonly maxSequences?: number | undefined;
  /** Most requests that are taken beside `maxSequences`; more are refused with a `QueueFullError`. Default: no limit. */
  readonly maxQueued?: number | undefined;
  /**
   * How long the part of a prompt that one step computes may take while other requests run or wait, in milliseconds: about so
   * much longer they wait for their next token. Chunks are sized by what earlier ones took. It changes no result.
   * Default: 250.
   */
  readonly prefillTimeMs?: number | undefined;
  /**
   * Most tokens in one step, so the size of prefill chunks of a request that is alone. Larger ones are faster up to a point;
   * smaller ones let new requests in sooner. It changes no result. Default: 256.
   */
  readonly maxTokensPerStep?: number | undefined;
  /**
   * Most output rows in one step, each of which takes vocabSize floats in the backend: one for each sequence that generates,
   * one for each guess that is verified. `Session.forward` and `Session.score` take what there is. It changes no result.
   * Default: 64.
   */
  readonly maxOutputRows?: number | undefined;
  /** Guess tokens ahead in every generation that does not say otherwise. It changes no result. Default: no. */
  readonly speculation?: SpeculationOptions | undefined;
  /**
   * `overlapped` (default) prepares a step while another runs, `simple` does one thing after the other. Same steps, same
   * results.
   */
  readonly loop?: LoopKind | undefined;
  /** Check after every step that each block of the cache is accounted for, and fail if not. For tests. Default: false. */
  readonly checkIntegrity?: boolean | undefined;
  /**
   * Keeps packed weights in a directory, from which the next load of the same model maps them. They are written in the
   * background after the first token. Default: nothing is kept.
   */
  readonly packedCache?: PackedCacheOptions | undefined;
  /** Dispose of the backend together with the model. Default: false. */
  readonly ownsBackend?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
}

export type LoadModelOptions = PrepareModelOptions & LoadWeightsOptions;

const optionNames: Readonly<Record<keyof LoadModelOptions, true>> = {
  backend: true,
  contextLength: true,
  quantize: true,
  limits: true,
  signal: true,
  onProgress: true,
  cacheDtype: true,
  cacheTokens: true,
  cacheBytes: true,
  prefixCache: true,
  maxSequences: true,
  maxQueued: true,
  prefillTimeMs: true,
  maxTokensPerStep: true,
  maxOutputRows: true,
  speculation: true,
  loop: true,
  checkIntegrity: true,
  packedCache: true,
  ownsBackend: true,
};

/**
 * Checks the names of the options of `loadModel`, also for whoever adds some and passes on the rest.
 * @throws InvalidArgumentError that names the first one that there is not
 */
export function checkLoadModelOptionNames(options: object): void {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name));
  if (unknown === undefined) return;
  throw new InvalidArgumentError(
    `loadModel has no option ${JSON.stringify(unknown)}; it has ${Object.keys(optionNames).join(', ')}.`,
    { details: { field: unknown } },
  );
}

/** Positions per block. Half an attention tile: fine enough to waste little, coarse enough for short block tables. */
export const blockSize = 32;

/** Blocks are numbered by int32. */
const mostBlocks = 2 ** 31 - 1;

const defaultMaxTokensPerStep = 256;
const defaultMaxOutputRows = 64;
const defaultMaxSequences = 32;
const defaultPrefillTimeMs = 250;

/** @throws InvalidArgumentError when it is not a whole number from 1 to what the model can address */
export function resolveContextLength(wanted: number | undefined, maxContextLength: number): number {
  const contextLength = wanted ?? Math.min(defaultContextLength, maxContextLength);
  checkRange('contextLength', contextLength, 1, maxContextLength, ' (what the model was made for)');
  return contextLength;
}

/** @throws InvalidArgumentError that names the option and its range */
export function resolveLoadWeightsOptions(options: LoadWeightsOptions, backend: Backend, contextLength: number) {
  const { cacheDtype = 'f16', cacheTokens, cacheBytes, packedCache, speculation } = options;
  const { prefixCache = true, checkIntegrity = false, ownsBackend = false, loop = 'overlapped' } = options;
  const { maxTokensPerStep = defaultMaxTokensPerStep, maxOutputRows = defaultMaxOutputRows } = options;
  const { maxQueued = Number.POSITIVE_INFINITY, prefillTimeMs = defaultPrefillTimeMs } = options;
  checkRange('maxTokensPerStep', maxTokensPerStep, 1, 2 ** 16);
  checkRange('maxOutputRows', maxOutputRows, 1, 2 ** 12);
  // Each sequence that generates takes a token and an output row of the step.
  const mostSequences = Math.min(maxTokensPerStep, maxOutputRows);
  const { maxSequences = Math.min(defaultMaxSequences, mostSequences) } = options;
  checkRange('maxSequences', maxSequences, 1, mostSequences, ' (from maxTokensPerStep and maxOutputRows)');
  checkOneOf('cacheDtype', cacheDtype, backend.info.cacheDtypes, ' with this backend');
  checkOneOf('loop', loop, ['overlapped', 'simple']);
  if (cacheTokens !== undefined && cacheBytes !== undefined) {
    throw new InvalidArgumentError('cacheTokens and cacheBytes both say how large the cache is: give one of them.');
  }
  if (cacheTokens !== undefined) checkRange('cacheTokens', cacheTokens, 1, 2 ** 31);
  if (cacheBytes !== undefined) checkRange('cacheBytes', cacheBytes, 1, Number.MAX_SAFE_INTEGER);
  if (maxQueued !== Number.POSITIVE_INFINITY) checkRange('maxQueued', maxQueued, 0, Number.MAX_SAFE_INTEGER);
  if (!(prefillTimeMs > 0)) {
    throw new InvalidArgumentError(`prefillTimeMs must be a number of milliseconds above 0, got ${prefillTimeMs}.`);
  }
  return {
    cacheDtype,
    cacheTokens: cacheTokens ?? (cacheBytes === undefined ? contextLength : undefined),
    cacheBytes,
    packedCache,
    speculation,
    prefixCache,
    checkIntegrity,
    ownsBackend,
    loop,
    maxTokensPerStep,
    maxOutputRows,
    maxSequences,
    maxQueued,
    prefillTimeMs,
  };
}

/**
 * Blocks of a cache of so many positions or bytes.
 * @throws InvalidArgumentError when the bytes do not hold one block
 */
export function numCacheBlocks(
  {
    cacheTokens,
    cacheBytes,
    cacheDtype,
  }: Pick<LoadWeightsOptions, 'cacheTokens' | 'cacheBytes'> & { cacheDtype: CacheDtype },
  layers: readonly CacheLayerSpec[],
): number {
  if (cacheBytes === undefined) return Math.ceil(cacheTokens! / blockSize);
  const bytesPerBlock = blockSize * cacheBytesPerToken(layers, cacheDtype);
  checkRange('cacheBytes', cacheBytes, bytesPerBlock, Number.MAX_SAFE_INTEGER, ` (a block of ${blockSize} positions)`);
  return Math.min(Math.floor(cacheBytes / bytesPerBlock), mostBlocks);
}

/** Bytes that a position takes in a cache. Backends may round the width of values up to a vector. */
export function cacheBytesPerToken(layers: readonly CacheLayerSpec[], cacheDtype: CacheDtype): number {
  const padded = layers.map((layer) => ({ ...layer, headDim: Math.ceil(layer.headDim / 8) * 8 }));
  return kvBytesPerToken(padded, cacheDtype);
}

function checkOneOf(field: string, value: string, expected: readonly string[], where = ''): void {
  if (expected.includes(value)) return;
  throw new InvalidArgumentError(`${field} must be one of ${expected.join(', ')}${where}, got ${String(value)}.`, {
    details: { field, expected, received: value },
  });
}

function checkRange(field: string, value: number, least: number, most: number, why = ''): void {
  if (Number.isSafeInteger(value) && value >= least && value <= most) return;
  throw new InvalidArgumentError(
    `${field} must be a whole number from ${least} to ${most}${why}, got ${String(value)}.`,
    {
      details: { field, least, most, received: value },
    },
  );
}
