import type { Batch } from '../program/batch.ts';
import type { Program } from '../program/program.ts';
import type { Quantizer } from '../quantize/quantizer.ts';
import type { WeightDtype } from '../tensor/dtypes.ts';
import type { FileMapper } from './files.ts';
import type { StepOutput } from './step-output.ts';
import type { LoadWeightsOptions, WeightSource, WeightSpec, Weights } from './weights.ts';

/** Version of the numerics contract (docs/numerics.md). Part of saved sessions and fingerprints. */
export const numericsVersion = 2;

/**
 * What runs Programs. Engine, sampler, speculation and server know backends only through this interface.
 *
 * Every backend gives, for the same weights, tokens and cache type, the same logits whatever else is in the batch, however
 * the prompt is chunked, and wherever its blocks lie. CPU backends agree with each other to the bit.
 */
export interface Backend {
  readonly info: BackendInfo;
  /** Opens files the way that this backend reads them best. */
  readonly fileMapper: FileMapper;
  /** Quantizes weights on this backend's threads; absent where it has no faster way than TypeScript. */
  readonly quantizer?: Quantizer;

  /**
   * Packs the weights named by `specs`. The only copy of them in memory; sources may be closed afterwards.
   * @throws InvalidModelError when a source is missing or disagrees with its spec
   * @throws AbortError
   */
  loadWeights(
    specs: readonly WeightSpec[],
    sources: ReadonlyMap<string, WeightSource>,
    options?: LoadWeightsOptions,
  ): Promise<Weights>;

  /**
   * Allocates everything that steps of this program need: arenas, scratch, cache.
   * @throws InvalidArgumentError when an option is out of range
   */
  compile(program: Program, weights: Weights, options: CompileOptions): Promise<Executable>;

  /** Ends threads. Safe to call twice; executables and weights must be disposed first. */
  dispose(): Promise<void>;
}

export interface BackendInfo {
  readonly kind: 'reference' | 'cpu' | 'webgpu';
  /** The kernel variant chosen for this machine, such as `avx2`. */
  readonly variant: string;
  readonly numThreads: number;
  readonly weightDtypes: readonly WeightDtype[];
  readonly cacheDtypes: readonly CacheDtype[];
  /** Whether `step` takes output rows of the kind `sample`. */
  readonly canSampleInStep: boolean;
}

/**
 * How keys and values are stored. `q8`: 8-bit codes with one f32 scale for each position and KV head, about half the bytes of
 * `f16` (docs/numerics.md, write-cache).
 */
export type CacheDtype = 'f32' | 'f16' | 'q8';

export interface CompileOptions {
  /** Most tokens in one step. */
  readonly maxTokens: number;
  /** Most output rows in one step; each costs vocabSize floats. */
  readonly maxOutputRows: number;
  readonly cache: CacheOptions;
}

export interface CacheOptions {
  readonly dtype: CacheDtype;
  /** Positions per block: 16, 32 or 64. It changes no result. */
  readonly blockSize: number;
  readonly numBlocks: number;
}

/** A compiled program with its cache. Runs one step at a time. */
export interface Executable {
  readonly program: Program;
  readonly cache: KvCache;

  /**
   * Runs every op of the program over the batch, off the JavaScript thread where the backend can. When it rejects, the cache
   * at the step's positions is undefined and everything else is as before.
   *
   * @throws InvalidArgumentError when the batch is malformed, or another step is running
   * @throws NumericError naming the first op that produced NaN or infinity
   * @throws AbortError when the signal fires; it is looked at between ops
   */
  step(batch: Batch, options?: StepOptions): Promise<StepResult>;

  /** Waits for a running step, then frees the memory. Safe to call twice. */
  dispose(): Promise<void>;
}

export interface StepOptions {
  readonly output?: StepOutput;
  readonly signal?: AbortSignal;
  /** Measure wall time per op; costs nothing when off. */
  readonly profile?: boolean;
}

export interface StepResult {
  /** [numOutputRows, vocabSize] for `logits`; for `rows` of those before the ones of the kind `hidden`. Valid until the next step of the same executable; copy to keep. */
  readonly logits?: Float32Array;
  /** [numOutputRows, hiddenSize] for `hidden`; for `rows` of those of that kind, when there are any. Valid until the next step. */
  readonly hidden?: Float32Array;
  /** [numOutputRows] for `rows`: NaN where not asked for. */
  readonly logprobs?: Float32Array;
  /** [numOutputRows] for `rows`: -1 where no log-probability was asked for; ties go to the lower id. */
  readonly argmax?: Int32Array;
  /** [numOutputRows] for `rows`: -1 where not asked for, -2 where the mask allows no token. */
  readonly sampled?: Int32Array;
  /** By boundary name, for programs with captures: [rows, width]. */
  readonly captures?: ReadonlyMap<string, Float32Array>;
  /** One entry per op of the program, when asked for. */
  readonly profile?: readonly OpTiming[];
}

export interface OpTiming {
  /** Index into `Program.ops`. */
  readonly op: number;
  readonly nanoseconds: number;
}

/**
 * The paged cache of an executable. Its bytes stay with the backend. What is asked of its blocks takes its turn: after a step
 * that runs, and in the order of the calls.
 */
export interface KvCache {
  readonly dtype: CacheDtype;
  readonly blockSize: number;
  readonly numBlocks: number;
  /** Bytes of one block over all layers. */
  readonly bytesPerBlock: number;
  /** Names how the bytes lie in a block. It changes whenever that does: bytes that were kept elsewhere are then no longer taken. */
  readonly layout: string;

  /** Sets blocks to zero. Call it for every block that is handed out, so that no stale value is ever read. */
  zeroBlocks(blocks: Int32Array): Promise<void>;
  /** Copies whole blocks over all layers; `from` and `to` have the same length. */
  copyBlocks(from: Int32Array, to: Int32Array): Promise<void>;
  /** The blocks' bytes in this backend's own layout, [blocks.length · bytesPerBlock]. */
  readBlocks(blocks: Int32Array): Promise<Uint8Array>;
  /** The inverse of `readBlocks`, of a cache with the same layout, type, block size and numerics version. */
  writeBlocks(blocks: Int32Array, bytes: Uint8Array): Promise<void>;
  /** Keys (after RoPE) and values of one layer at positions [0, numPositions), as f32 [position, kvHead, headDim]. */
  readLayer(layer: number, blockTable: Int32Array, numPositions: number): Promise<{ k: Float32Array; v: Float32Array }>;
}
