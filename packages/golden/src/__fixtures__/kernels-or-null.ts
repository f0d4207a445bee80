import type { Backend } from '@hearth/core';
import { createCpuBackend, KernelsLoadError } from '@hearth/kernels';

/** The native kernels, where they are built; the checks that everything runs say when they are not. */
export async function kernelsOrNull(): Promise<Backend | null> {
  try {
    return await createCpuBackend({ numThreads: 2 });
  } catch (error) {
    if (error instanceof KernelsLoadError) return null;
    throw error;
  }
}
