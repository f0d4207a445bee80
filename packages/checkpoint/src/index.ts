export type {
  ChatTemplateSources,
  Checkpoint,
  CheckpointTensor,
  OpenCheckpointOptions,
  TokenizerSource,
} from './checkpoint.ts';
export {
  type ConvertToGgufOptions,
  type ConvertToHuggingFaceOptions,
  convertToGguf,
  convertToHuggingFaceDirectory,
} from './convert.ts';
export type {
  GgufHeader,
  GgufMetadata,
  GgufNumberArray,
  GgufScalar,
  GgufScalarType,
  GgufTensor,
  GgufValue,
  GgufValueType,
} from './gguf/gguf.ts';
export { type GgufMetadataToWrite, type GgufTypedValue, metadataOf } from './gguf/metadata-encoder.ts';
export { type ReadGgufOptions, readGguf } from './gguf/read-gguf.ts';
export {
  type GgufModel,
  type RawGguf,
  type WriteGgufModelOptions,
  type WriteGgufOptions,
  writeGguf,
  writeRawGguf,
} from './gguf/write-gguf.ts';
export { type HuggingFaceModel, writeHuggingFaceDirectory } from './hugging-face/write-directory.ts';
export { plainFileMapper } from './io/plain-file-mapper.ts';
export { FileSink, writeAside } from './io/write-aside.ts';
export { openCheckpoint } from './open-checkpoint.ts';
export {
  isEmbeddingTable,
  type PlannedTensor,
  plannedDtypes,
  type QuantizePlan,
  type QuantizeRule,
} from './quantize/quantize-plan.ts';
export { type RecodeOptions, recodedSource } from './quantize/recoded-source.ts';
export { requireStorageDtype, type StorageDtype, storageDtypes } from './quantize/storage-dtype.ts';
export { typescriptQuantizer } from './quantize/typescript-quantizer.ts';
export { type ReadSafetensorsOptions, readSafetensors } from './safetensors/read-safetensors.ts';
export type { SafetensorsHeader, SafetensorsTensor } from './safetensors/safetensors.ts';
export { type WriteSafetensorsOptions, writeSafetensors } from './safetensors/write-safetensors.ts';
export { type WriteShardsOptions, writeShardedSafetensors } from './safetensors/write-shards.ts';
export { syntheticTokenIds, syntheticVocabSize } from './synthetic/byte-level-tokenizer.ts';
export {
  type LlamaShape,
  llama1BShape,
  type SyntheticLlama,
  type SyntheticLlamaOptions,
  syntheticLlama,
  writeSyntheticLlama,
} from './synthetic/synthetic-llama.ts';
export {
  type SyntheticModel,
  type SyntheticModelOptions,
  syntheticModel,
  writeSynthetic,
} from './synthetic/synthetic-model.ts';
export { encodeElements } from './tensor/encode.ts';
export { type ReadTensorOptions, readTensor, readTensorChunks } from './tensor/read-tensor.ts';
export type { TensorToWrite } from './tensor/tensor-to-write.ts';
export { weightSource } from './tensor/weight-source.ts';
