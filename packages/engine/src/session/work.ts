import { setMaxListeners } from 'node:events';
import { AbortError, HearthError, InvalidArgumentError } from '@hearth/core';
import { DeadlineError } from '../errors.ts';
import { mostTimerMs } from '../step/most-timer-ms.ts';

export interface WorkOptions {
  readonly signal?: AbortSignal | undefined;
  /** Stops the work with a `DeadlineError` when it has not ended so many milliseconds from now. */
  readonly timeoutMs?: number | undefined;
}

/** Options of whatever waits for its turn in the steps of a model. */
export interface RequestOptions extends WorkOptions {
  /**
   * Requests of higher priority start first, and take blocks of the cache from lower ones that run. They do not end a lower
   * one to run in its stead when `maxSequences` run already. Default: 0.
   */
  readonly priority?: number | undefined;
}

/** @throws InvalidArgumentError that names the option */
export function checkRequestOptions({ priority = 0, timeoutMs }: RequestOptions): void {
  if (!Number.isFinite(priority)) {
    throw new InvalidArgumentError(`priority must be a number, got ${String(priority)}.`, {
      details: { field: 'priority', expected: 'a number', received: priority },
    });
  }
  if (timeoutMs === undefined || (typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= mostTimerMs)) return;
  const expected = `a number above 0, at most ${mostTimerMs}`;
  throw new InvalidArgumentError(`timeoutMs must be ${expected}, got ${String(timeoutMs)}.`, {
    details: { field: 'timeoutMs', expected, received: timeoutMs },
  });
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
