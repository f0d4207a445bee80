export type { KernelVariant } from './addon-types.ts';
export { type CpuBackendOptions, createCpuBackend, kernelVariants } from './cpu-backend.ts';
export { cgroupCpuLimit, defaultNumThreads } from './default-num-threads.ts';
export type { FileAccess } from './file-mapper.ts';
export { KernelsLoadError } from './load-addon.ts';
export {
  type Ceiling,
  type MachineCeilings,
  type MachineProbe,
  type MachineProbeOptions,
  type MeasuredRate,
  type MeasureOptions,
  openMachineProbe,
  type ThreadRates,
} from './machine-probe.ts';
export { type MeasureMachineOptions, measureMachine } from './measure-machine.ts';
export { listPackedFiles, type PackedFileInfo, removePackedFiles } from './packed-file/directory.ts';
