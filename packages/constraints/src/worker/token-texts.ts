import { advanceUtf8, invalidUtf8, numUtf8States, type Utf8State } from './utf8.ts';

/** A vocabulary as flat tables, in the form in which it crosses threads. */
export interface VocabularyTables {
  /** Rows of the model. */
  readonly vocabSize: number;
  /** Text of token i: `bytes[offsets[i] .. offsets[i + 1]]`. Empty for control tokens and rows without a token. */
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly offsets: Uint32Array<ArrayBuffer>;
  readonly endTokenIds: readonly number[];
}

/** The bytes of tokens, and which tokens go on a text that ends within a character. */
export class TokenTexts {
  readonly #tables: VocabularyTables;
  readonly #masks: (Uint32Array | undefined)[] = new Array(numUtf8States).fill(undefined);

  constructor(tables: VocabularyTables) {
    this.#tables = tables;
  }

  /** Whether the id is a row of the model. */
  has(id: number): boolean {
    return Number.isInteger(id) && id >= 0 && id < this.#tables.vocabSize;
  }

  isEnd(id: number): boolean {
    return this.#tables.endTokenIds.includes(id);
  }

  bytesOf(id: number): Uint8Array {
    const { bytes, offsets } = this.#tables;
    return bytes.subarray(offsets[id], offsets[id + 1]);
  }

  /** Each byte as the letter that byte-level tokenizers write for it: text for the library, which takes no bytes. */
  *inLetters(): Generator<string> {
    for (let id = 0; id < this.#tables.vocabSize; id++) {
      let letters = '';
      for (const byte of this.bytesOf(id)) letters += byteLetters[byte];
      yield letters;
    }
  }

  /** Takes out of a mask every token that has no text or would not be UTF-8 behind `state`. End tokens stay. */
  keepUtf8(mask: Uint32Array, state: Utf8State): void {
    const allowed = this.#mask(state);
    for (let word = 0; word < mask.length; word++) mask[word]! &= allowed[word]!;
  }

  #mask(state: Utf8State): Uint32Array {
    const known = this.#masks[state];
    if (known !== undefined) return known;
    const { vocabSize, endTokenIds } = this.#tables;
    const mask = new Uint32Array(Math.ceil(vocabSize / 32));
    for (let id = 0; id < vocabSize; id++) {
      const bytes = this.bytesOf(id);
      const isAllowed = bytes.length > 0 && advanceUtf8(state, bytes) !== invalidUtf8;
      if (isAllowed) mask[id >>> 5]! |= 1 << (id & 31);
    }
    if (state === 0) for (const id of endTokenIds) mask[id >>> 5]! |= 1 << (id & 31);
    this.#masks[state] = mask;
    return mask;
  }
}

/** Printable bytes stand for themselves, the others for letters from U+0100 on, in order. */
const byteLetters: readonly string[] = (() => {
  const isPrintable = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
  let numOthers = 0;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(isPrintable(byte) ? byte : 256 + numOthers++));
})();
