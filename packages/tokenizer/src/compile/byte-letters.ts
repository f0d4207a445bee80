/**
 * The alphabet of byte-level models (GPT-2, `bytes_to_unicode`): bytes that print as Latin-1 stand for themselves, the
 * other 68 follow from U+0100 on, in order. So a blank is `Ġ` and a line feed is `Ċ`.
 */
const letterOfByte: readonly string[] = (() => {
  const prints = (byte: number) =>
    (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || (byte >= 0xae && byte <= 0xff);
  let next = 0x100;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(prints(byte) ? byte : next++));
})();

const byteOfLetter: ReadonlyMap<string, number> = new Map(letterOfByte.map((letter, byte) => [letter, byte]));

export function byteLetter(byte: number): string {
  return letterOfByte[byte] as string;
}

/** Bytes that a piece of byte letters stands for, or `undefined` if another character is in it. */
export function bytesOfLetters(piece: string): Uint8Array | undefined {
  const bytes = new Uint8Array(piece.length);
  for (let index = 0; index < piece.length; index++) {
    const byte = byteOfLetter.get(piece[index] as string);
    if (byte === undefined) return undefined;
    bytes[index] = byte;
  }
  return bytes;
}
