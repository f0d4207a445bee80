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

/** The UTF-8 bytes of a text as ids of the fake vocabulary. */
export function bytesOf(text: string): number[] {
  return [...new TextEncoder().encode(text)];
}

/** Bytes to text as they come, whole characters only. Ids that are no byte have no text. */
export class ByteDetokenizer implements StreamingDetokenizer {
  readonly #decoder = new TextDecoder();

  push(tokenId: number): string {
    return tokenId < 256 ? this.#decoder.decode(Uint8Array.of(tokenId), { stream: true }) : '';
  }

  flush(): string {
    return this.#decoder.decode();
  }
}
