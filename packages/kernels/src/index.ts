export type { KernelVariant } from './addon-types.ts';
export { type CpuBackendOptions, createCpuBackend, kernelVariants } from './cpu-backend.ts';
export type { FileAccess } from './file-mapper.ts';
export { KernelsLoadError } from './load-addon.ts';
