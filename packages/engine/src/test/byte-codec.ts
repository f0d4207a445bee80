import type { StreamingDetokenizer } from '../generate/completion.ts';

/**
 * Ids 0 to 255 are bytes of UTF-8; then come control tokens; ids above them, up to the size of the vocabulary, have no
 * token, like the padded rows of real models.
 */
export const fakeTokens = { bos: 256, eos: 257, imStart: 258, imEnd: 259, vocabSize: 264 } as const;

/** Control tokens by their literal. */
export const fakeSpecialTokens: Readonly<Record<string, number>> = {
  '<s>': fakeTokens.bos,
  '</s>': fakeTokens.eos,
  '<|im_start|>': fakeTokens.imStart,
  '<|im_end|>': fakeTokens.imEnd,
};

function literalOf(tokenId: number): string {
  return Object.entries(fakeSpecialTokens).find(([, id]) => id === tokenId)?.[0] ?? '';
}

/** The UTF-8 bytes of a text as ids of the fake vocabulary. */
export function bytesOf(text: string): number[] {
  return [...new TextEncoder().encode(text)];
}

/** Bytes to text as they come, whole characters only. Control tokens have a text when it was made with them, others none. */
export class ByteDetokenizer implements StreamingDetokenizer {
  readonly #decoder = new TextDecoder();
  readonly #shownSpecialTokens: ReadonlySet<number>;

  constructor(shownSpecialTokens: ReadonlySet<number> = new Set()) {
    this.#shownSpecialTokens = shownSpecialTokens;
  }

  push(tokenId: number): string {
    return this.#decoder.decode(Uint8Array.from(this.#bytesOf(tokenId)), { stream: true });
  }

  #bytesOf(tokenId: number): readonly number[] {
    if (tokenId < 256) return [tokenId];
    return this.#shownSpecialTokens.has(tokenId) ? bytesOf(literalOf(tokenId)) : [];
  }

  flush(): string {
    return this.#decoder.decode();
  }
}
