import { setMaxListeners } from 'node:events';
import { AbortError, HearthError, InvalidArgumentError } from '@hearth/core';
import { DeadlineError } from '../errors.ts';

export interface WorkOptions {
  readonly signal?: AbortSignal | undefined;
  /** Stops the work with a `DeadlineError` when it has not ended so many milliseconds from now. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A piece of work that can be stopped: by the caller's signal, by its deadline, by breaking out of it, or by disposing what it
 * works on. The first reason counts.
 */
export class Work {
  readonly #controller = new AbortController();
  readonly #deadline: NodeJS.Timeout | undefined;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #onCallerAbort = () => this.stop(new AbortError(undefined, { cause: this.#callerSignal?.reason }));

  /** @throws InvalidArgumentError when `signal` is no AbortSignal */
  constructor({ signal, timeoutMs }: WorkOptions = {}) {
    if (signal !== undefined && !(signal instanceof AbortSignal)) {
      throw new InvalidArgumentError(`signal must be an AbortSignal, got ${typeof signal}.`);
    }
    this.#callerSignal = signal;
    if (signal?.aborted) this.#onCallerAbort();
    else if (signal) {
      // One signal for a hundred requests is no leak.
      setMaxListeners(0, signal);
      signal.addEventListener('abort', this.#onCallerAbort);
    }
    if (timeoutMs !== undefined) this.#deadline = setTimeout(() => this.stop(new DeadlineError(timeoutMs)), timeoutMs);
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
    clearTimeout(this.#deadline);
  }

  /** What the work was stopped for, instead of the `AbortError` that it threw because of it. */
  reasonFor(error: unknown): unknown {
    const stopped = this.signal.aborted && error instanceof AbortError;
    return stopped && HearthError.isInstance(this.signal.reason) ? this.signal.reason : error;
  }
}
