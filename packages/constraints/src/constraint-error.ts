import { HearthError, type HearthErrorOptions } from '@hearth/core';

/**
 * A constraint makes no sense, is not supported, or takes too much to compile; or a token does not obey it. For schemas,
 * `details.path` is a JSON pointer to the place, such as `#/properties/age`; for grammars the message names line and column.
 */
export class ConstraintError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('constraint', message, options);
  }
}
