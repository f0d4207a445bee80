/** So many at a time; the others wait, in the order in which they came. */
export class Seats {
  #numFree: number;
  readonly #waiting = new Set<() => void>();

  constructor(count: number) {
    this.#numFree = count;
  }

  /**
   * Does the work when there is a seat for it.
   * @throws the reason of the signal when it fires before that; what the work throws
   */
  async use<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#sit(signal);
    try {
      return await work();
    } finally {
      this.#numFree++;
      const [next] = this.#waiting;
      next?.();
    }
  }

  #sit(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const sit = () => {
        this.#waiting.delete(sit);
        signal.removeEventListener('abort', leave);
        this.#numFree--;
        resolve();
      };
      const leave = () => {
        this.#waiting.delete(sit);
        reject(signal.reason);
      };
      if (this.#numFree > 0) sit();
      else {
        this.#waiting.add(sit);
        signal.addEventListener('abort', leave, { once: true });
      }
    });
  }
}
