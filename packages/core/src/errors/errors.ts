import { HearthError, type HearthErrorOptions } from './hearth-error.ts';

/** A caller passed a value that this function does not take. */
export class InvalidArgumentError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('invalid_argument', message, options);
  }
}

/** A model file, tokenizer or template is damaged or makes no sense. `details` names the file and the tensor or key. */
export class InvalidModelError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('invalid_model', message, options);
  }
}

/** The file is well formed, but holds something that this version of Hearth does not do. The message names it. */
export class UnsupportedError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('unsupported', message, options);
  }
}

/** The operation was cancelled by its `AbortSignal`. The name is `AbortError`, as in the web platform. */
export class AbortError extends HearthError {
  constructor(message = 'The operation was aborted.', options?: HearthErrorOptions) {
    super('aborted', message, options);
    this.name = 'AbortError';
  }
}

/** The object was disposed and cannot be used again. */
export class DisposedError extends HearthError {
  constructor(what: string) {
    super('disposed', `This ${what} was disposed and cannot be used again.`, { details: { what } });
  }
}

/** The tokens do not fit the context. Nothing was truncated and nothing was run. */
export class ContextLengthError extends HearthError {
  readonly numTokens: number;
  readonly contextLength: number;

  constructor(numTokens: number, contextLength: number) {
    super(
      'context_length_exceeded',
      `The context holds ${contextLength} tokens, but ${numTokens} are needed. Shorten the prompt or load the model with a larger context.`,
      { details: { numTokens, contextLength } },
    );
    this.numTokens = numTokens;
    this.contextLength = contextLength;
  }
}

/** An operator produced NaN, an infinity, or a value that its cache type cannot hold. The step gives no token. */
export class NumericError extends HearthError {
  readonly op: string;

  constructor(op: string, message: string) {
    super('numeric', message, { details: { op } });
    this.op = op;
  }
}

/** A limit of time, size or output was exceeded; the work was stopped. */
export class LimitExceededError extends HearthError {
  constructor(message: string, options?: HearthErrorOptions) {
    super('limit_exceeded', message, options);
  }
}

/** Throws `AbortError` when the signal has fired; its reason becomes the cause. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
}
