import { throwIfAborted } from '@hearth/core';

/** How long the backend computes before it lets timers and sockets run. */
const turnMilliseconds = 10;

/**
 * The stretch of computing between two visits of the event loop. Long loops ask `isOver` now and then, and `pass` when it is.
 */
export class EventLoopTurn {
  readonly #signal: AbortSignal | undefined;
  #start = performance.now();

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  get isOver(): boolean {
    return performance.now() - this.#start >= turnMilliseconds;
  }

  /** Lets the event loop run once. Throws AbortError when the signal has fired by then. */
  async pass(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    throwIfAborted(this.#signal);
    this.#start = performance.now();
  }
}
