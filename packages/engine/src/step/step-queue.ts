/**
 * Who runs next. Pure state: first come, first served.
 *
 * A sequence has at most one step in the queue and joins it again at the end when that step is done, so sequences that
 * work at the same time take turns step by step, prefill chunks and single tokens alike.
 */
export class StepQueue<Entry> {
  readonly #waiting: Entry[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  push(entry: Entry): void {
    this.#waiting.push(entry);
  }

  /** Takes out an entry that is no longer wanted. False when it is not waiting (any more). */
  remove(entry: Entry): boolean {
    const at = this.#waiting.indexOf(entry);
    if (at >= 0) this.#waiting.splice(at, 1);
    return at >= 0;
  }

  /**
   * Takes out the entries of the next step, in order; empty when nothing waits. This is the seam for batching: it
   * chooses one sequence now, everything after it takes any number.
   */
  takeNext(): Entry[] {
    return this.#waiting.splice(0, 1);
  }

  /** Takes out all of them, in order. */
  takeAll(): Entry[] {
    return this.#waiting.splice(0);
  }

  /** Puts entries that had their turn and could not use it before all others. */
  unshift(entries: readonly Entry[]): void {
    this.#waiting.unshift(...entries);
  }

  find(isWanted: (entry: Entry) => boolean): Entry | undefined {
    return this.#waiting.find(isWanted);
  }
}
