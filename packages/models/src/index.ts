export type { RopeScaling } from './blocks/rope/rope-scaling.ts';
export { type RopeConfig, ropeSpec } from './blocks/rope/rope-spec.ts';
export { type BuildModelOptions, buildModel, type Model } from './build-model.ts';
export { checkTensors, type TensorShape } from './check-tensors.ts';
export type { BuildContext, ModelDefinition, ModelFamily } from './model-family.ts';
export { modelFamilies } from './registry.ts';
