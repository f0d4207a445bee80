export {
  AbortError,
  ContextLengthError,
  DisposedError,
  InvalidArgumentError,
  InvalidModelError,
  LimitExceededError,
  NumericError,
  throwIfAborted,
  UnsupportedError,
} from './errors/errors.ts';
export { HearthError, type HearthErrorOptions } from './errors/hearth-error.ts';
