import { KernelsLoadError, kernelVariants } from '@hearth/kernels';

/** Whether the native kernels can be loaded here: tests that need them are skipped where they cannot, and CI refuses skips. */
export function hasKernels(): boolean {
  try {
    return kernelVariants().length > 0;
  } catch (error) {
    if (error instanceof KernelsLoadError) return false;
    throw error;
  }
}
