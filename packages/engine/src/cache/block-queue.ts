/** Block numbers from the oldest to the newest; any of them can be taken out. Every call takes the same short time. */
export class BlockQueue {
  /** A ring: the entry at `numBlocks` lies between the newest and the oldest. */
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  readonly #end: number;
  #size = 0;

  constructor(numBlocks: number) {
    this.#end = numBlocks;
    this.#next = new Int32Array(numBlocks + 1).fill(numBlocks);
    this.#previous = new Int32Array(numBlocks + 1).fill(numBlocks);
  }

  get size(): number {
    return this.#size;
  }

  /** Undefined when it is empty. */
  get oldest(): number | undefined {
    return this.#size === 0 ? undefined : this.#next[this.#end]!;
  }

  /** Adds a block that is not in it, as the newest. */
  push(block: number): void {
    const newest = this.#previous[this.#end]!;
    this.#link(newest, block);
    this.#link(block, this.#end);
    this.#size++;
  }

  /** Takes a block that is in it out. */
  remove(block: number): void {
    this.#link(this.#previous[block]!, this.#next[block]!);
    this.#size--;
  }

  /** From the oldest on. */
  *[Symbol.iterator](): Iterator<number> {
    for (let block = this.#next[this.#end]!; block !== this.#end; block = this.#next[block]!) yield block;
  }

  #link(first: number, second: number): void {
    this.#next[first] = second;
    this.#previous[second] = first;
  }
}
