import type { ChatTemplateLimits } from '@hearth/chat-format';
import type { QuantizePlan, StorageDtype } from '@hearth/checkpoint';
import { type Backend, type CacheDtype, InvalidArgumentError, type PackedCacheOptions } from '@hearth/core';
import type { TokenizerLimits } from '@hearth/tokenizer';
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
  /** Positions that the cache holds over all sessions, at least `contextLength`. Default: `contextLength`. */
  readonly cacheTokens?: number | undefined;
  /**
   * Most tokens in one step, so the size of prefill chunks. Larger ones are faster up to a point; smaller ones let other
   * sessions and an abort in sooner. It changes no result. Default: 256.
   */
  readonly maxTokensPerStep?: number | undefined;
  /**
   * Most output rows in one step. Each takes vocabSize floats in the backend; only `Session.forward` and `Session.score` ask
   * for more than one, and are faster with more. It changes no result. Default: 16.
   */
  readonly maxOutputRows?: number | undefined;
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

/** Positions per block. Half an attention tile: fine enough to waste little, coarse enough for short block tables. */
export const blockSize = 32;

/** Output rows of one step unless the caller says otherwise. */
const defaultMaxOutputRows = 16;

/** @throws InvalidArgumentError when it is not a whole number from 1 to what the model can address */
export function resolveContextLength(wanted: number | undefined, maxContextLength: number): number {
  const contextLength = wanted ?? Math.min(defaultContextLength, maxContextLength);
  checkRange('contextLength', contextLength, 1, maxContextLength, ' (what the model was made for)');
  return contextLength;
}

/** @throws InvalidArgumentError that names the option and its range */
export function resolveLoadWeightsOptions(options: LoadWeightsOptions, backend: Backend, contextLength: number) {
  const { cacheDtype = 'f16', maxTokensPerStep = 256, cacheTokens = contextLength, ownsBackend = false } = options;
  const { maxOutputRows = defaultMaxOutputRows, packedCache } = options;
  const { cacheDtypes } = backend.info;
  if (!cacheDtypes.includes(cacheDtype)) {
    throw new InvalidArgumentError(
      `cacheDtype must be one of ${cacheDtypes.join(', ')} with this backend, got ${String(cacheDtype)}.`,
      { details: { field: 'cacheDtype', expected: cacheDtypes, received: cacheDtype } },
    );
  }
  checkRange('maxTokensPerStep', maxTokensPerStep, 1, 2 ** 16);
  checkRange('maxOutputRows', maxOutputRows, 1, 2 ** 12);
  checkRange('cacheTokens', cacheTokens, contextLength, 2 ** 31, ' (from the context length on)');
  return { cacheDtype, cacheTokens, maxTokensPerStep, maxOutputRows, packedCache, ownsBackend };
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
