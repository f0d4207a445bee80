import type { Task } from './task.ts';

/** A task that was handed in, and when. */
export interface RankedTask {
  readonly task: Task;
  /** Ascends with every task that is handed in. */
  readonly arrival: number;
}

/**
 * The order in which tasks get what there is: higher priority first, then who came first. A task may take blocks from
 * those behind it and from no other, so the first one always gets on and no two starve each other.
 */
export function byRank(a: RankedTask, b: RankedTask): number {
  return b.task.priority - a.task.priority || a.arrival - b.arrival;
}

/** Tasks in the order of their rank. */
export class RankedList {
  readonly #entries: RankedTask[] = [];

  get size(): number {
    return this.#entries.length;
  }

  get first(): RankedTask | undefined {
    return this.#entries[0];
  }

  get last(): RankedTask | undefined {
    return this.#entries.at(-1);
  }

  has(entry: RankedTask): boolean {
    return this.#entries.includes(entry);
  }

  add(entry: RankedTask): void {
    const behind = this.#entries.findIndex((other) => byRank(entry, other) < 0);
    this.#entries.splice(behind < 0 ? this.#entries.length : behind, 0, entry);
  }

  /** False when it is not in the list. */
  remove(entry: RankedTask): boolean {
    const at = this.#entries.indexOf(entry);
    if (at >= 0) this.#entries.splice(at, 1);
    return at >= 0;
  }

  /** In order: a copy, so that the list may change while it is walked. */
  all(): RankedTask[] {
    return this.#entries.slice();
  }
}
