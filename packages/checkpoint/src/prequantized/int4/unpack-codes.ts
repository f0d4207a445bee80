// The 4-bit codes of 32-bit words, one to a byte. Bits 0 to 3 of a word are its nibble 0.

/**
 * Words whose codes belong to eight neighbouring rows of the result: words [n, stripWords] give codes [8 · n, numWords].
 * @param first the first of `numWords` words that are taken of each row of words
 */
export function codesDownwards(words: Uint32Array, stripWords: number, first: number, numWords: number): Uint8Array {
  const numRows = words.length / stripWords;
  const codes = new Uint8Array(8 * numRows * numWords);
  for (let row = 0; row < numRows; row++) {
    const from = row * stripWords + first;
    const to = 8 * row * numWords;
    for (let nibble = 0; nibble < 8; nibble++) {
      const start = to + nibble * numWords;
      for (let i = 0; i < numWords; i++) codes[start + i] = (words[from + i]! >>> (4 * nibble)) & 15;
    }
  }
  return codes;
}

/**
 * Words whose codes lie side by side in a row of the result: words [n, stripWords] give codes [n, 8 · numWords].
 * @param order nibble i of a word is its code number `order[i]`
 */
export function codesAlong(
  words: Uint32Array,
  stripWords: number,
  first: number,
  numWords: number,
  order: readonly number[],
): Uint8Array {
  const numRows = words.length / stripWords;
  const codes = new Uint8Array(8 * numRows * numWords);
  const shifts = Array.from({ length: 8 }, (_, place) => 4 * order.indexOf(place));
  // Written out: a loop over places takes twice the time.
  const [s0, s1, s2, s3, s4, s5, s6, s7] = shifts as [number, number, number, number, number, number, number, number];
  let to = 0;
  for (let row = 0; row < numRows; row++) {
    const from = row * stripWords + first;
    for (let i = 0; i < numWords; i++, to += 8) {
      const word = words[from + i]!;
      codes[to] = (word >>> s0) & 15;
      codes[to + 1] = (word >>> s1) & 15;
      codes[to + 2] = (word >>> s2) & 15;
      codes[to + 3] = (word >>> s3) & 15;
      codes[to + 4] = (word >>> s4) & 15;
      codes[to + 5] = (word >>> s5) & 15;
      codes[to + 6] = (word >>> s6) & 15;
      codes[to + 7] = (word >>> s7) & 15;
    }
  }
  return codes;
}
