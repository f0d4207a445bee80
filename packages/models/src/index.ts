export { type RopeConfig, ropeSpec } from './blocks/rope-config.ts';
export { type BuildModelOptions, buildModel, type Model } from './build-model.ts';
export { checkTensors, type TensorShape } from './check-tensors.ts';
export { type LlamaConfig, parseLlamaConfig } from './llama.ts';
export type { ModelDefinition, ModelFamily } from './model-family.ts';
export { modelFamilies } from './registry.ts';
