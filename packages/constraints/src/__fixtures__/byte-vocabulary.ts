import type { Vocabulary } from '../vocabulary.ts';

/** Pieces that begin or end within a JSON token or a character, as those of real vocabularies do. */
const pieces = [
  '{"',
  '":',
  '":"',
  '",',
  '", "',
  '"}',
  '}}',
  '[[',
  ']}',
  'true',
  'fal',
  'null',
  '\n\n',
  '\n  ',
  '   ',
  ' "',
  'Ann',
  'up',
  'upp',
  'er',
  '\\u',
  '\\"',
  '\\n',
  '12',
  '-1',
  '0.5',
  'e+',
  'é',
  '日本',
  '😀',
  '<tool',
  '_call>',
  'a"b',
];
/** The first bytes of 😀 and the last of é: halves of characters. */
const halves = [[0xf0, 0x9f], [0x98, 0x80], [0xc3], [0xa9, 0x22]];

/** A vocabulary of all bytes, some longer tokens, two control tokens and a hole. `ids` finds a token by its text. */
export function byteVocabulary() {
  const tokens: Uint8Array[] = Array.from({ length: 256 }, (_, byte) => Uint8Array.of(byte));
  for (const piece of pieces) tokens.push(new TextEncoder().encode(piece));
  for (const half of halves) tokens.push(Uint8Array.from(half));
  const end = tokens.length;
  const control = end + 1;
  const vocabulary: Vocabulary = {
    vocabSize: end + 3,
    eosTokenIds: [end],
    tokenBytes: (id) => tokens[id] ?? (id === control ? new TextEncoder().encode('"<|control|>"') : new Uint8Array()),
    isSpecial: (id) => id === end || id === control,
  };
  return { vocabulary, end, control, hole: end + 2 };
}
