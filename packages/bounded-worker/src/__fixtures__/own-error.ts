import { HearthError, type HearthErrorOptions } from '@hearth/core';

/** A class with a code that `@hearth/core` does not know: it takes the caller's reviver to get it back. */
export class OwnError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('own', message, options);
  }
}
