const marker = Symbol.for('hearth.error');

/** What every Hearth error can carry besides its message. */
export interface HearthErrorOptions {
  /** The error that led to this one. */
  cause?: unknown;
  /** The offending values, by name, for programs that want more than a sentence. */
  details?: Readonly<Record<string, unknown>>;
}

/**
 * Base of every error that Hearth throws on purpose.
 *
 * `code` is stable and meant for programs; `message` is one sentence for people: what was expected, what came, and
 * what to do. `isInstance` works across duplicate versions of this package, where `instanceof` does not.
 */
export class HearthError extends Error {
  readonly code: string;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: HearthErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.details = options.details ?? {};
    Object.defineProperty(this, marker, { value: true });
  }

  static isInstance(error: unknown): error is HearthError {
    return typeof error === 'object' && error !== null && (error as Record<symbol, unknown>)[marker] === true;
  }
}
