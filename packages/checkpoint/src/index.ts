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
