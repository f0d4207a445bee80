import { HearthError } from '@hearth/core';

/** The command line makes no sense; exit code 2, as is the custom for usage errors. */
export class UsageError extends HearthError {
  constructor(message: string) {
    super('usage', message);
  }
}
