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
    for (let i = 0; i < numWords; i++) {
      const word = words[from + i]!;
      for (let nibble = 0; nibble < 8; nibble++) codes[to + nibble * numWords + i] = (word >>> (4 * nibble)) & 15;
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
  let to = 0;
  for (let row = 0; row < numRows; row++) {
    const from = row * stripWords + first;
    for (let i = 0; i < numWords; i++, to += 8) {
      const word = words[from + i]!;
      for (let nibble = 0; nibble < 8; nibble++) codes[to + order[nibble]!] = (word >>> (4 * nibble)) & 15;
    }
  }
  return codes;
}
