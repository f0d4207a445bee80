import type { Backend } from '@hearth/core';
import { type CpuBackendOptions, createCpuBackend, KernelsLoadError } from '@hearth/kernels';
import { createReferenceBackend } from '@hearth/reference';

let hasWarned = false;

/**
 * The fastest backend that this machine has: the native kernels, else the TypeScript reference, which gives the same tokens
 * slowly. Falling back is reported once per process as a warning that says why and what to do.
 *
 * @throws InvalidArgumentError for options that make no sense; they are no reason to fall back
 */
export async function createDefaultBackend(options: CpuBackendOptions = {}): Promise<Backend> {
  try {
    return await createCpuBackend(options);
  } catch (error) {
    if (!(error instanceof KernelsLoadError)) throw error;
    if (!hasWarned) process.emitWarning(error.message, { type: 'HearthWarning', code: 'HEARTH_REFERENCE_BACKEND' });
    hasWarned = true;
    return createReferenceBackend();
  }
}
