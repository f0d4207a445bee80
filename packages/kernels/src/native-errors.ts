import {
  AbortError,
  DisposedError,
  HearthError,
  InvalidArgumentError,
  InvalidModelError,
  LimitExceededError,
} from '@hearth/core';

/** What the addon throws: an Error with the code of a Failure (native/runtime/failure.h). */
interface NativeError extends Error {
  readonly code?: string;
}

/** The Hearth error that a native one stands for. Errors that are already ours, or nobody's, pass through. */
export function toHearthError(error: unknown): unknown {
  if (HearthError.isInstance(error) || !(error instanceof Error)) return error;
  const options = { cause: error };
  switch ((error as NativeError).code) {
    case 'invalid_argument':
      return new InvalidArgumentError(error.message, options);
    case 'invalid_model':
      return new InvalidModelError(error.message, options);
    case 'limit_exceeded':
      return new LimitExceededError(error.message, options);
    case 'aborted':
      return new AbortError(error.message, options);
    case 'disposed':
      return new DisposedError('backend, executable, file or set of weights');
    default:
      return error;
  }
}

/** Runs native code, synchronous or not, and turns its errors into Hearth's. */
export async function translatingErrors<T>(run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toHearthError(error);
  }
}
