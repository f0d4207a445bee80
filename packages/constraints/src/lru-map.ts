/** A map that holds at most so many entries, and lets go of the one that was not asked for the longest. */
export class LruMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #size: number;
  readonly #onEvict: (value: Value) => void;

  constructor(size: number, onEvict: (value: Value) => void = () => {}) {
    this.#size = size;
    this.#onEvict = onEvict;
  }

  get(key: Key): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#size) return;
    const [oldest] = this.#entries.keys();
    this.delete(oldest!);
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (value === undefined) return;
    this.#entries.delete(key);
    this.#onEvict(value);
  }

  /** Forgets everything, without letting go of it one by one. */
  clear(): void {
    this.#entries.clear();
  }

  get size(): number {
    return this.#entries.size;
  }
}
