export {
  type Backend,
  type BackendInfo,
  type CacheDtype,
  type CacheOptions,
  type CompileOptions,
  type Executable,
  type KvCache,
  numericsVersion,
  type OpTiming,
  type StepOptions,
  type StepResult,
} from './backend/backend.ts';
export { checkRowOutputs } from './backend/check-row-outputs.ts';
export { countHeadRows } from './backend/count-head-rows.ts';
export {
  checkFileRange,
  DerivedFile,
  type FileMapper,
  type FileRange,
  type MappedFile,
  MemoryFile,
} from './backend/files.ts';
export {
  noTokenAllowed,
  type RowOutput,
  type SampleRow,
  type StepOutput,
  type TokenMask,
} from './backend/step-output.ts';
export type {
  LoadWeightsOptions,
  PackedCache,
  PackedCacheOptions,
  WeightSource,
  WeightSpec,
  Weights,
} from './backend/weights.ts';
export {
  AbortError,
  ContextLengthError,
  DisposedError,
  InvalidArgumentError,
  InvalidModelError,
  LimitExceededError,
  NumericError,
  throwIfAborted,
  UnsupportedError,
} from './errors/errors.ts';
export { HearthError, type HearthErrorOptions } from './errors/hearth-error.ts';
export { isNestedDeeperThan } from './json/nesting.ts';
export { exp32 } from './math/exp32.ts';
export { fma32 } from './math/fma32.ts';
export { log32 } from './math/log32.ts';
export { tanh32 } from './math/tanh32.ts';
export { type Batch, type BatchLimits, type BlockTable, checkBatch } from './program/batch.ts';
export { checkProgram } from './program/check-program.ts';
export { countOpsForHidden } from './program/count-ops-for-hidden.ts';
export { type OpAccess, opAccess } from './program/op-access.ts';
export type {
  Activation,
  ActivationOp,
  AddOp,
  AddRmsNormOp,
  AttentionOp,
  BufferSpec,
  CacheGroupSpec,
  CacheLayerSpec,
  CaptureOp,
  CaptureSpec,
  EmbedOp,
  GatedActivationOp,
  GatherRowsOp,
  LayerNormOp,
  LinearOp,
  MoeMlpOp,
  Op,
  Program,
  RmsNormOp,
  RopeOp,
  RopeSpec,
  RopeTableOp,
  RowKind,
  SoftcapOp,
  View,
  WeightId,
  WriteCacheOp,
} from './program/program.ts';
export { type QuantizableDtype, quantizableDtypes, quantizeBlocks } from './quantize/quantize-blocks.ts';
export type { Quantizer } from './quantize/quantizer.ts';
export { decodeElements } from './tensor/decode-elements.ts';
export {
  type DtypeInfo,
  isQuantizedDtype,
  type PlainDtype,
  type QuantizedDtype,
  type WeightDtype,
  type WeightDtypeInfo,
  weightByteLength,
  weightDtypes,
} from './tensor/dtypes.ts';
export type { QuantizedBlocks } from './tensor/formats/block-format.ts';
export { blockProblem } from './tensor/formats/block-problem.ts';
export { f8e4m3Values } from './tensor/formats/f8-format.ts';
export { bf16ToF32, f16ToF32, f16Values, f32ToBf16, f32ToF16 } from './tensor/half.ts';
export { packedByteLength, packedLayoutVersion, packMatrix, tileRows } from './tensor/packed-layout.ts';
export {
  dequantizeBlocks,
  dequantizeInto,
  emptyQuantizedBlocks,
  splitQuantizedBlocks,
} from './tensor/quantized-blocks.ts';
