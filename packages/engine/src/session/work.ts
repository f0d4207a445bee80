import { AbortError, HearthError } from '@hearth/core';

/**
 * A piece of work that can be stopped: by the caller's signal, by breaking out of it, or by disposing what it works on.
 * The first reason counts.
 */
export class Work {
  readonly #controller = new AbortController();
  readonly #callerSignal: AbortSignal | undefined;
  readonly #onCallerAbort = () => this.stop(new AbortError(undefined, { cause: this.#callerSignal?.reason }));

  constructor(callerSignal?: AbortSignal) {
    this.#callerSignal = callerSignal;
    if (callerSignal?.aborted) this.#onCallerAbort();
    else callerSignal?.addEventListener('abort', this.#onCallerAbort);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** `reason` becomes what the work rejects with. */
  stop(reason: HearthError): void {
    this.#controller.abort(reason);
  }

  /** Call it when the work has ended, however it did. */
  end(): void {
    this.#callerSignal?.removeEventListener('abort', this.#onCallerAbort);
  }

  /** What the work was stopped for, instead of the `AbortError` that it threw because of it. */
  reasonFor(error: unknown): unknown {
    const stopped = this.signal.aborted && error instanceof AbortError;
    return stopped && HearthError.isInstance(this.signal.reason) ? this.signal.reason : error;
  }
}
