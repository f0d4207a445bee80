/**
 * Finds the merge of two neighbouring ids: an open-addressing hash table over flat arrays. A `Map` with joined keys needs
 * five times the memory and a string or a boxed number per look-up, and there are millions of look-ups per prompt.
 */
export class MergeTable {
  /** Triples (left, right, rank) in slots; an empty slot has rank -1. */
  readonly #slots: Int32Array;
  readonly #mask: number;
  readonly #mergedIds: Int32Array;

  /** @param merges triples (left id, right id, merged id); the index of a triple is its rank, the lowest goes first */
  constructor(merges: Int32Array) {
    const count = merges.length / 3;
    // At most half full, so that probes stay short.
    const capacity = 2 ** Math.ceil(Math.log2(Math.max(2 * count, 2)));
    this.#mask = capacity - 1;
    this.#slots = new Int32Array(capacity * 3).fill(-1);
    this.#mergedIds = new Int32Array(count);
    for (let rank = 0; rank < count; rank++) {
      const left = merges[3 * rank] as number;
      const right = merges[3 * rank + 1] as number;
      this.#mergedIds[rank] = merges[3 * rank + 2] as number;
      const slot = this.#find(left, right);
      this.#slots[slot] = left;
      this.#slots[slot + 1] = right;
      // A pair that is listed twice counts as its last entry, as in the reference.
      this.#slots[slot + 2] = rank;
    }
  }

  /** Rank of the merge of two ids, or -1 if they do not merge. */
  rankOf(left: number, right: number): number {
    return this.#slots[this.#find(left, right) + 2] as number;
  }

  mergedId(rank: number): number {
    return this.#mergedIds[rank] as number;
  }

  /** Slot of the pair, or the empty slot where it belongs. */
  #find(left: number, right: number): number {
    // Two odd constants with well mixed bits; the low bits of ids alone would cluster.
    let index = (Math.imul(left, 0x9e3779b1) ^ Math.imul(right, 0x85ebca6b)) >>> 0;
    index ^= index >>> 15;
    for (;;) {
      const slot = (index & this.#mask) * 3;
      if (this.#slots[slot + 2] === -1) return slot;
      if (this.#slots[slot] === left && this.#slots[slot + 1] === right) return slot;
      index++;
    }
  }
}
