/** A binary heap of numbers in a flat array that gives the smallest first. */
export class NumberHeap {
  #items = new Float64Array(64);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  push(value: number): void {
    if (this.#size === this.#items.length) {
      const larger = new Float64Array(this.#size * 2);
      larger.set(this.#items);
      this.#items = larger;
    }
    const items = this.#items;
    let index = this.#size++;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = items[parent] as number;
      if (above <= value) break;
      items[index] = above;
      index = parent;
    }
    items[index] = value;
  }

  /** Only valid while `size` is not 0. */
  pop(): number {
    const items = this.#items;
    const smallest = items[0] as number;
    const last = items[--this.#size] as number;
    const size = this.#size;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= size) break;
      if (child + 1 < size && (items[child + 1] as number) < (items[child] as number)) child++;
      const below = items[child] as number;
      if (below >= last) break;
      items[index] = below;
      index = child;
    }
    items[index] = last;
    return smallest;
  }
}
