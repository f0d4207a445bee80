import { entryOf } from '../compile/byte-table.ts';
import type { EncoderTables } from '../compile/compiled-tokenizer.ts';
import type { IdList } from './id-list.ts';
import { MergeTable } from './merge-table.ts';
import { NumberHeap } from './number-heap.ts';

/** Words up to this length are kept with their ids: most words of a text come again. */
const maxCachedLength = 64;
const maxCachedWords = 20_000;
/** Room for longer words is given back after use: 2^20 symbols take 30 MiB with the heap. */
const maxKeptSymbols = 2 ** 20;
/** Heap keys are rank * this + position, exact in a double while ranks stay below 2^26. */
const maxSymbols = 2 ** 27;

/**
 * Byte-pair encoding of one word (Sennrich et al., 2016): start from the smallest pieces and merge the neighbours whose
 * merge ranks lowest, the leftmost first, until none is left.
 *
 * Ours and not the library's, because a word can be a whole text: 100,000 underscores take that one 4.4 s (Qwen 3) and
 * 100 kB of prose 3.4 s (Llama 2, which has no words). A heap of candidates over a linked list takes O(n log n).
 */
export class BytePairEncoder {
  readonly #tables: EncoderTables;
  readonly #merges: MergeTable;
  readonly #symbols: ReadonlyMap<number, number>;
  readonly #byBytes: boolean;
  readonly #words: ReadonlyMap<string, number>;
  readonly #cache = new Map<string, Int32Array>();
  readonly #textEncoder = new TextEncoder();
  #candidates = new NumberHeap();
  /** Linked list of the word's symbols: id, previous and next position (-1 at the ends). A merged-away symbol has id -1. */
  #ids = new Int32Array(256);
  #previous = new Int32Array(256);
  #next = new Int32Array(256);
  #count = 0;

  constructor(tables: EncoderTables) {
    this.#tables = tables;
    this.#merges = new MergeTable(tables.merges);
    this.#byBytes = tables.preTokenizer.at(-1)?.kind === 'bytes';
    const symbols = new Map<number, number>();
    for (let index = 0; index < tables.symbols.length; index += 2) {
      symbols.set(tables.symbols[index] as number, tables.symbols[index + 1] as number);
    }
    this.#symbols = symbols;
    this.#words = readWords(tables.words);
  }

  /** Appends the ids of a word to `out`. */
  encode(word: string, out: IdList): void {
    const whole = this.#words.get(word);
    if (whole !== undefined) {
      out.push(whole);
      return;
    }
    if (word.length > maxCachedLength) {
      this.#merge(word, out);
      return;
    }
    let ids = this.#cache.get(word);
    if (ids === undefined) {
      const start = out.length;
      this.#merge(word, out);
      ids = out.slice(start);
      // Starting over is cheaper than keeping an order of use, and a full cache is rare.
      if (this.#cache.size === maxCachedWords) this.#cache.clear();
      this.#cache.set(word, ids);
      return;
    }
    out.append(ids);
  }

  #merge(word: string, out: IdList): void {
    if (this.#byBytes) this.#setBytes(word);
    else this.#setCharacters(word);
    this.#mergeAll();
    for (let position = 0; position < this.#count; position++) {
      const id = this.#ids[position] as number;
      if (id >= 0) out.push(id);
    }
    if (this.#ids.length > maxKeptSymbols) this.#allocate(256);
  }

  #setBytes(word: string): void {
    const bytes = this.#textEncoder.encode(word);
    this.#reserve(bytes.length);
    for (const byte of bytes) {
      const id = this.#symbols.get(byte) ?? this.#tables.unknownId;
      if (id !== undefined) this.#ids[this.#count++] = id;
    }
  }

  #setCharacters(word: string): void {
    const { fallbackIds, unknownId, fuseUnknown } = this.#tables;
    this.#reserve(word.length * 3); // one UTF-16 unit is at most three bytes
    let afterUnknown = false;
    for (const character of word) {
      const id = this.#symbols.get(character.codePointAt(0) as number);
      if (id !== undefined) {
        this.#ids[this.#count++] = id;
        afterUnknown = false;
      } else if (fallbackIds === undefined || !this.#fallBack(character, fallbackIds)) {
        if (unknownId !== undefined && !(fuseUnknown && afterUnknown)) this.#ids[this.#count++] = unknownId;
        afterUnknown = true;
      } else {
        afterUnknown = false;
      }
    }
  }

  /** Appends the byte pieces of a character, if the vocabulary has them all. */
  #fallBack(character: string, fallbackIds: Int32Array): boolean {
    const bytes = this.#textEncoder.encode(character);
    if (bytes.some((byte) => (fallbackIds[byte] as number) < 0)) return false;
    for (const byte of bytes) this.#ids[this.#count++] = fallbackIds[byte] as number;
    return true;
  }

  #reserve(count: number): void {
    this.#count = 0;
    if (count > maxSymbols) throw new RangeError(`A word of ${count} symbols is longer than ${maxSymbols}.`);
    if (count > this.#ids.length) this.#allocate(count);
  }

  #allocate(count: number): void {
    this.#ids = new Int32Array(count);
    this.#previous = new Int32Array(count);
    this.#next = new Int32Array(count);
    this.#candidates = new NumberHeap();
  }

  #mergeAll(): void {
    const count = this.#count;
    const ids = this.#ids;
    const previous = this.#previous;
    const next = this.#next;
    for (let position = 0; position < count; position++) {
      previous[position] = position - 1;
      next[position] = position + 1 < count ? position + 1 : -1;
    }
    for (let position = 0; position + 1 < count; position++) this.#propose(position, position + 1);

    while (this.#candidates.size > 0) {
      const key = this.#candidates.pop();
      const rank = Math.floor(key / maxSymbols);
      const left = key - rank * maxSymbols;
      const right = next[left] as number;
      if ((ids[left] as number) < 0 || right < 0) continue;
      // The neighbours may have changed since; they must still make the same piece.
      const currentRank = this.#merges.rankOf(ids[left] as number, ids[right] as number);
      const mergedId = this.#merges.mergedId(rank);
      if (currentRank < 0 || this.#merges.mergedId(currentRank) !== mergedId) continue;

      ids[left] = mergedId;
      ids[right] = -1;
      const after = next[right] as number;
      next[left] = after;
      if (after >= 0) {
        previous[after] = left;
        this.#propose(left, after);
      }
      const before = previous[left] as number;
      if (before >= 0) this.#propose(before, left);
    }
  }

  #propose(left: number, right: number): void {
    const rank = this.#merges.rankOf(this.#ids[left] as number, this.#ids[right] as number);
    if (rank >= 0) this.#candidates.push(rank * maxSymbols + left);
  }
}

function readWords(words: EncoderTables['words']): ReadonlyMap<string, number> {
  const map = new Map<string, number>();
  if (words === undefined) return map;
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  words.ids.forEach((id, index) => {
    map.set(decoder.decode(entryOf(words.texts, index)), id);
  });
  return map;
}
