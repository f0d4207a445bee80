import type { StreamingDetokenizer } from '../generate/completion.ts';

/** Ids 0 to 255 are bytes of UTF-8; then the two control tokens; ids above them have no token, like a padded table. */
export const fakeTokens = { bos: 256, eos: 257, vocabSize: 264 } as const;

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
