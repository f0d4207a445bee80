/** A growing list of token ids in a flat array. */
export class IdList {
  #ids = new Int32Array(256);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(id: number): void {
    if (this.#length === this.#ids.length) this.#grow(this.#length + 1);
    this.#ids[this.#length++] = id;
  }

  append(ids: Int32Array): void {
    const length = this.#length + ids.length;
    if (length > this.#ids.length) this.#grow(length);
    this.#ids.set(ids, this.#length);
    this.#length = length;
  }

  at(index: number): number | undefined {
    return index < this.#length ? this.#ids[index] : undefined;
  }

  /** Copy of the ids from `start` on. */
  slice(start = 0): Int32Array<ArrayBuffer> {
    return this.#ids.slice(start, this.#length);
  }

  #grow(length: number): void {
    const larger = new Int32Array(Math.max(length, this.#ids.length * 2));
    larger.set(this.#ids);
    this.#ids = larger;
  }
}
