/** Slots are at most half full, so that a search ends after two or so. */
const MAX_LOAD = 0.5;
const FIRST_SLOTS = 64;

/**
 * Where each n-gram of a growing text occurred last, for one n: an open-addressing hash table of places.
 *
 * It holds no tokens: equal hashes are told apart by comparing the text itself, so no answer depends on the hash. 8 to 16
 * bytes for each different n-gram.
 */
export class NgramTable {
  readonly n: number;
  /** End (exclusive) of the latest occurrence; 0 is a free slot, which no n-gram can end at. */
  #slots = new Int32Array(FIRST_SLOTS);
  #count = 0;
  /** Drawn anew for each table, so that no text can be written for which all n-grams fall into one slot. */
  readonly #seed = Math.floor(Math.random() * 2 ** 32);

  constructor(n: number) {
    this.n = n;
  }

  /** End of the latest recorded occurrence of the n-gram that ends at `end` (exclusive); 0 when there is none. */
  find(tokenIds: readonly number[], end: number): number {
    return this.#slots[this.#slotOf(tokenIds, end)]!;
  }

  /** Records the n-gram that ends at `end` (exclusive), n ≤ end. Later calls have a larger end. */
  add(tokenIds: readonly number[], end: number): void {
    const slot = this.#slotOf(tokenIds, end);
    if (this.#slots[slot] === 0) this.#count++;
    this.#slots[slot] = end;
    if (this.#count > MAX_LOAD * this.#slots.length) this.#grow(tokenIds);
  }

  /** The slot that holds this n-gram, or the free one where it belongs. */
  #slotOf(tokenIds: readonly number[], end: number): number {
    const last = this.#slots.length - 1;
    let slot = this.#hash(tokenIds, end) & last;
    while (this.#slots[slot] !== 0 && !this.#isEqual(tokenIds, this.#slots[slot]!, end)) slot = (slot + 1) & last;
    return slot;
  }

  #isEqual(tokenIds: readonly number[], endA: number, endB: number): boolean {
    for (let i = 1; i <= this.n; i++) if (tokenIds[endA - i] !== tokenIds[endB - i]) return false;
    return true;
  }

  /** FNV-1a over whole ids instead of bytes, with a shift that brings high bits down, where slots are taken from. */
  #hash(tokenIds: readonly number[], end: number): number {
    let hash = this.#seed;
    for (let i = end - this.n; i < end; i++) {
      hash = Math.imul(hash ^ tokenIds[i]!, 0x01000193);
      hash ^= hash >>> 15;
    }
    return hash;
  }

  #grow(tokenIds: readonly number[]): void {
    const ends = this.#slots.filter((end) => end !== 0);
    this.#slots = new Int32Array(2 * this.#slots.length);
    for (const end of ends) this.#slots[this.#slotOf(tokenIds, end)] = end;
  }
}
