/**
 * Keeps long loops from holding the event loop: `if (slice.isSpent) await slice.next()` now and then.
 * 10 ms leave room for the work between two checks within the 50 ms that readers promise.
 */
export class TimeSlice {
  #start = performance.now();

  get isSpent(): boolean {
    return performance.now() - this.#start > 10;
  }

  /** Lets timers, I/O and other callers run. */
  async next(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#start = performance.now();
  }
}
