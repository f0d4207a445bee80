import { HearthError, type HearthErrorOptions } from '@hearth/core';

/**
 * The code inside a worker failed in a way that it did not foresee: it threw something that is no `HearthError`, ended
 * its own thread, or its file could not be loaded. `details` holds the worker's name and, if known, the method.
 */
export class WorkerFailedError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('worker_failed', message, options);
  }
}
