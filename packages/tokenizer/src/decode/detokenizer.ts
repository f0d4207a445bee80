import type { TokenBytes } from './token-bytes.ts';

/** Options of decoding. */
export interface DecodeOptions {
  /** Leaves special tokens out of the text. Default false. */
  skipSpecialTokens?: boolean;
  /** Special tokens that stay in the text when the others are left out. Default none. */
  keepSpecialTokens?: ReadonlySet<number> | undefined;
  /**
   * Whether the ids begin a text, so that the blank which encoding puts before it is taken away again (SentencePiece
   * models). Set it to false for ids that go on from other text. Default true.
   */
  isStart?: boolean;
}

/**
 * Turns ids into text as they come. A character whose bytes are spread over several tokens is held back until it is
 * whole, so no piece ever ends within a character. All pieces together are `decode()` of all ids.
 */
export interface Detokenizer {
  /** Text that this id completes; often empty. */
  push(id: number): string;
  /** What is still held back, as U+FFFD, because it can no longer become a character. Then it begins anew. */
  flush(): string;
}

/** Removes the blanks at the start of a text, by the rule of the tokenizer's decoder. */
export class StartTrimmer {
  #blanksLeft: number;
  #inFirstPiece: boolean;

  constructor(tokens: TokenBytes, isStart: boolean) {
    const { start } = tokens;
    this.#blanksLeft = isStart && start.kind === 'strip-blanks' ? start.count : 0;
    this.#inFirstPiece = isStart && start.kind === 'strip-first-piece';
  }

  trim(piece: Uint8Array): Uint8Array {
    if (this.#inFirstPiece) {
      this.#inFirstPiece = false;
      return piece.filter((byte) => byte !== 0x20);
    }
    if (this.#blanksLeft === 0 || piece.length === 0) return piece;
    let begin = 0;
    while (begin < piece.length && this.#blanksLeft > 0 && piece[begin] === 0x20) {
      begin++;
      this.#blanksLeft--;
    }
    if (begin < piece.length) this.#blanksLeft = 0;
    return piece.subarray(begin);
  }
}

export function createDetokenizer(tokens: TokenBytes, options: DecodeOptions): Detokenizer {
  const { isStart = true } = options;
  // Invalid bytes become U+FFFD, one for each part that could not be continued, as in Rust and the web platform.
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  let trimmer = new StartTrimmer(tokens, isStart);
  return {
    push(id) {
      if (isLeftOut(tokens, id, options)) return '';
      const piece = trimmer.trim(tokens.bytesOf(id));
      return piece.length === 0 ? '' : utf8.decode(piece, { stream: true });
    },
    flush() {
      trimmer = new StartTrimmer(tokens, isStart);
      return utf8.decode();
    },
  };
}

/** All ids at once: their bytes are joined and decoded in one go. */
export function decode(tokens: TokenBytes, ids: ArrayLike<number>, options: DecodeOptions): string {
  const { isStart = true } = options;
  const trimmer = new StartTrimmer(tokens, isStart);
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let index = 0; index < ids.length; index++) {
    const id = ids[index] as number;
    if (isLeftOut(tokens, id, options)) continue;
    const piece = trimmer.trim(tokens.bytesOf(id));
    pieces.push(piece);
    length += piece.length;
  }
  const bytes = new Uint8Array(length);
  let offset = 0;
  for (const piece of pieces) {
    bytes.set(piece, offset);
    offset += piece.length;
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}

function isLeftOut(tokens: TokenBytes, id: number, options: DecodeOptions): boolean {
  const { skipSpecialTokens = false, keepSpecialTokens } = options;
  return skipSpecialTokens && tokens.isSpecial(id) && !keepSpecialTokens?.has(id);
}
