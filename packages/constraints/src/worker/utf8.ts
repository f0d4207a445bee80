/**
 * How far a text in UTF-8 is within a character: 0 between characters, otherwise what the next byte may be. The library
 * lets bytes through that are no UTF-8 (too long forms, surrogates, beyond U+10FFFF), and no text would be what its grammar
 * says once they are replaced by U+FFFD.
 */
export type Utf8State = number;

/** Nothing can follow: the bytes are no UTF-8. */
export const invalidUtf8 = -1;
export const numUtf8States = 8;

/** For each state within a character: first and last byte that may follow, and the state behind it. */
const continuations: readonly (readonly [number, number, Utf8State])[] = [
  [0, 0, 0],
  [0x80, 0xbf, 0], // one byte is left
  [0x80, 0xbf, 1],
  [0x80, 0xbf, 2],
  [0xa0, 0xbf, 1], // after E0: nothing that is too long
  [0x80, 0x9f, 1], // after ED: no surrogates
  [0x90, 0xbf, 2], // after F0: nothing that is too long
  [0x80, 0x8f, 2], // after F4: nothing beyond U+10FFFF
];

/** The state behind more bytes. */
export function advanceUtf8(state: Utf8State, bytes: Uint8Array): Utf8State {
  for (const byte of bytes) {
    state = state === 0 ? afterFirstByte(byte) : afterNextByte(state, byte);
    if (state === invalidUtf8) return invalidUtf8;
  }
  return state;
}

function afterFirstByte(byte: number): Utf8State {
  if (byte < 0x80) return 0;
  if (byte < 0xc2 || byte > 0xf4) return invalidUtf8;
  if (byte < 0xe0) return 1;
  if (byte === 0xe0) return 4;
  if (byte === 0xed) return 5;
  if (byte < 0xf0) return 2;
  if (byte === 0xf0) return 6;
  return byte === 0xf4 ? 7 : 3;
}

function afterNextByte(state: Utf8State, byte: number): Utf8State {
  const [first, last, next] = continuations[state]!;
  return byte >= first && byte <= last ? next : invalidUtf8;
}
