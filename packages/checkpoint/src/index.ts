export type {
  ChatTemplateSources,
  Checkpoint,
  CheckpointTensor,
  OpenCheckpointOptions,
  TokenizerSource,
} from './checkpoint.ts';
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
export { type ReadGgufOptions, readGguf } from './gguf/read-gguf.ts';
export { plainFileMapper } from './io/plain-file-mapper.ts';
export { openCheckpoint } from './open-checkpoint.ts';
export { type ReadSafetensorsOptions, readSafetensors } from './safetensors/read-safetensors.ts';
export type { SafetensorsHeader, SafetensorsTensor } from './safetensors/safetensors.ts';
export { encodeElements } from './tensor/encode.ts';
export { type ReadTensorOptions, readTensor, readTensorChunks, weightSource } from './tensor/read-tensor.ts';
