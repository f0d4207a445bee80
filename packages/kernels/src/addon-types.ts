import type { Batch, CacheDtype, StepOutput, WeightDtype } from '@hearth/core';
import type { NativeRowOutputs } from './encode-row-outputs.ts';
import type { Ceiling } from './machine-probe.ts';

/** The native addon as it is (native/binding). Private: everything public is a class or function of this package over it. */
export interface Addon {
  readonly Runtime: new (variant: string, numThreads: number) => NativeRuntime;
  readonly Probe: new (variant: string, numThreads: number) => NativeProbe;
  /** Best first. */
  variants(): KernelVariant[];
  /** Of the processor, as far as the kernels care. */
  readonly cpuFeatures: readonly string[];
  /** `hearth-source:` and the hash of the sources it was built from. */
  readonly sourceHash: string;
  readonly testing: AddonTesting;
}

/** A build of the kernels for one instruction set. */
export interface KernelVariant {
  readonly name: string;
  readonly description: string;
  /** Instruction sets that it needs. */
  readonly requires: readonly string[];
  /** Whether this processor has them. */
  readonly isSupported: boolean;
}

export interface NativeRuntime {
  readonly variant: string;
  readonly numThreads: number;
  openFile(path: string, map: boolean): Promise<NativeFile>;
  createWeights(): NativeWeights;
  compile(
    weights: NativeWeights,
    words: Int32Array,
    maxTokens: number,
    maxOutputRows: number,
    /** [dtype, blockSize, numBlocks] */
    cache: Int32Array,
  ): NativeExecutable;
  /** The blocks, or the number of the first one whose values cannot be quantized. */
  quantize(dtype: number, values: Float32Array): Promise<Uint8Array | number>;
  dispose(): Promise<void>;
}

export interface NativeProbe {
  readonly variant: string;
  readonly numThreads: number;
  /** Rates per second of each run. `bytes` are those of the buffer that is read; 0 for arithmetic. */
  measure(quantity: number, allThreads: boolean, bytes: number, numRuns: number): Promise<Float64Array>;
  /** Ends the measurement that runs with an error of the code `aborted`. */
  abort(): void;
  dispose(): Promise<void>;
}

export interface NativeFile {
  readonly size: number;
  /** Nanoseconds since 1970. */
  readonly modifiedNs: bigint;
  readonly isMapped: boolean;
  /** Of a mapped file: false when it does not lie in huge pages, where memory of the process would. */
  isQuick(): Promise<boolean>;
  read(offset: number, length: number): Promise<Uint8Array>;
  close(): void;
}

export interface NativeWeights {
  addMatrix(
    dtype: number,
    rows: number,
    columns: number,
    rowOrder: Uint32Array | undefined,
    columnOrder: Uint32Array | undefined,
  ): number;
  addVector(values: Float32Array): number;
  /** A matrix of a packed file, complete after `loadPacked`. Only quantized types have a column order. */
  addPackedMatrix(
    dtype: number,
    rows: number,
    columns: number,
    columnOrder: Uint32Array | undefined,
    file: NativeFile,
    offset: number,
  ): number;
  loadPacked(first: number, count: number): Promise<void>;
  /** Makes a file with every weight at its offset, in the background: steps go on meanwhile. */
  writePacked(path: string, offsets: readonly number[], fileBytes: number): Promise<void>;
  cancelWriting(): void;
  /** Rows in the order of the file, ascending, each once; `offset` is that of `firstRow`. */
  packFile(index: number, file: NativeFile, offset: number, firstRow: number, numRows: number): Promise<void>;
  packBytes(index: number, bytes: Uint8Array, firstRow: number, numRows: number): Promise<void>;
  readTensor(index: number): Uint8Array;
  dispose(): void;
}

export interface NativeExecutable {
  readonly bytesPerBlock: number;
  step(
    batch: Batch,
    output: number,
    /** For the output kind `rows`. */
    rows: NativeRowOutputs | undefined,
    profile: boolean,
  ): Promise<void>;
  abort(): void;
  /** All rows of an output, in place; undefined where the runtime allows no views of native memory. */
  outputView(output: number): Float32Array | undefined;
  copyOutput(output: number, target: Float32Array): void;
  readRows(logprobs: Float32Array, argmax: Int32Array, sampled: Int32Array): void;
  readCapture(index: number): Float32Array;
  opNanoseconds(): Float64Array;
  zeroBlocks(blocks: Int32Array): Promise<void>;
  copyBlocks(from: Int32Array, to: Int32Array): Promise<void>;
  readBlocks(blocks: Int32Array): Promise<Uint8Array>;
  writeBlocks(blocks: Int32Array, bytes: Uint8Array): Promise<void>;
  readLayer(layer: number, blockTable: Int32Array, numPositions: number): Promise<{ k: Float32Array; v: Float32Array }>;
  dispose(): void;
}

/** For tests: elementary functions and sampling of a variant, and the allocation counter. */
export interface AddonTesting {
  allocationCount(): number;
  elementary(
    variant: string,
    name: 'exp' | 'log' | 'tanh' | 'silu' | 'gelu-tanh' | 'sin' | 'cos',
    x: Float32Array,
  ): Float32Array;
  fma(variant: string, a: Float32Array, b: Float32Array, c: Float32Array): Float32Array;
  halfToFloat(variant: string, x: Uint16Array): Float32Array;
  floatToHalf(variant: string, x: Float32Array): Uint16Array;
  /** One row of the kind `sample` as a step does it, with a context of 4096: the token id, or -1 when a logit is not finite. */
  sample(variant: string, logits: Float32Array, row: NativeRowOutputs): number;
}

/** Numbers of native/kernels/dtype.h. */
export const dtypeNumbers: Readonly<Record<WeightDtype, number>> = {
  f32: 0,
  f16: 1,
  bf16: 2,
  q8_0: 3,
  q4_0: 4,
  q4_1: 5,
  q5_0: 6,
  q5_1: 7,
  iq4_nl: 8,
  q2_k: 9,
  q3_k: 10,
  q4_k: 11,
  q5_k: 12,
  q6_k: 13,
  iq4_xs: 14,
  int4_g32: 15,
  int4_g128: 16,
  f8_e4m3: 17,
};

/** Numbers of native/cache/paged_cache.h. */
export const cacheDtypeNumbers: Readonly<Record<CacheDtype, number>> = { f32: 0, f16: 1, q8: 2 };

/** Numbers of native/step/executable.h. */
export const outputNumbers: Readonly<Record<StepOutput['kind'], number>> = {
  logits: 0,
  hidden: 1,
  rows: 2,
};

/** Numbers of native/measure/measure.h. The caches are read in the same way, each in a buffer that fits it. */
export const quantityNumbers: Readonly<Record<Ceiling, number>> = {
  integer: 0,
  fma: 1,
  'memory-read': 2,
  'l3-read': 3,
  'l2-read': 3,
};
