import { invalidField } from '../params/check.ts';

/**
 * Counts by token id, shared by all samplers: all zero between calls, which are synchronous and call nobody back. Grows
 * to the largest vocabulary seen, 4 bytes per token.
 */
let counts = new Int32Array(0);

/** A part of the history: tokens from `start` to the end. */
export interface TokenRange {
  readonly field: string;
  readonly tokenIds: ArrayLike<number>;
  readonly start: number;
}

/**
 * Calls `visit` once for every distinct token of the ranges, with the number of times it occurs. Counting from the
 * history each time, instead of keeping a tally, is what lets speculation take tokens back; it costs about 2 ns a token.
 *
 * @throws InvalidArgumentError when a token id lies outside the vocabulary
 */
export function forEachDistinctToken(
  ranges: readonly TokenRange[],
  vocabSize: number,
  visit: (tokenId: number, count: number) => void,
): void {
  for (const range of ranges) checkTokenIds(range, vocabSize);
  if (counts.length < vocabSize) counts = new Int32Array(vocabSize);
  for (const { tokenIds, start } of ranges) {
    for (let i = start; i < tokenIds.length; i++) counts[tokenIds[i]!]!++;
  }
  // The second walk takes each count away with its first occurrence, which leaves the array as it was found.
  for (const { tokenIds, start } of ranges) {
    for (let i = start; i < tokenIds.length; i++) {
      const tokenId = tokenIds[i]!;
      const count = counts[tokenId]!;
      if (count === 0) continue;
      counts[tokenId] = 0;
      visit(tokenId, count);
    }
  }
}

function checkTokenIds({ field, tokenIds, start }: TokenRange, vocabSize: number): void {
  for (let i = start; i < tokenIds.length; i++) {
    const tokenId = tokenIds[i]!;
    if (tokenId >>> 0 !== tokenId || tokenId >= vocabSize) {
      throw invalidField(`${field}[${i}]`, `a token id from 0 to ${vocabSize - 1}`, tokenId);
    }
  }
}
