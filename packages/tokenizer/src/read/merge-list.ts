import { InvalidModelError } from '@hearth/core';
import { show } from './read-value.ts';

/** Collects merges as triples (left id, right id, merged id), and refuses those whose pieces are unknown. */
export class MergeList {
  readonly #vocabulary: ReadonlyMap<string, number>;
  readonly #where: string;
  readonly #ids: Int32Array<ArrayBuffer>;
  #length = 0;

  /**
   * @param count number of merges that will be added
   * @param where name of the vocabulary for messages
   */
  constructor(vocabulary: ReadonlyMap<string, number>, count: number, where: string) {
    this.#vocabulary = vocabulary;
    this.#where = where;
    this.#ids = new Int32Array(count * 3);
  }

  /** @param place says where the merge stands; only called for an error */
  add(left: string, right: string, place: () => string): void {
    for (const piece of [left, right, left + right]) {
      const id = this.#vocabulary.get(piece);
      if (id === undefined) {
        throw new InvalidModelError(
          `${place()} merges ${show(left)} and ${show(right)}, but ${show(piece)} is not in ${this.#where}.`,
          { details: { place: place(), piece } },
        );
      }
      this.#ids[this.#length++] = id;
    }
  }

  /** Triples in the order in which they were added. */
  get ids(): Int32Array<ArrayBuffer> {
    return this.#ids;
  }
}
