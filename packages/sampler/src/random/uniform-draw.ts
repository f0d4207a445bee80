import { philox4x32 } from './philox.ts';

const TWO_POW_32 = 2 ** 32;

/**
 * The random number of one token: an f32 of 24 bits in [0, 1). It depends on its three arguments and on nothing else, so
 * a draw is the same whatever runs beside it, in whatever order.
 *
 * Philox key: the seed. Counter words, least significant first: number of completion tokens (two words), choice index, 0.
 * The upper 24 bits of the first output word are the number.
 *
 * @param seed 0 to 2^64 - 1
 * @param choiceIndex 0 to 2^32 - 1
 * @param numCompletionTokens tokens generated before this one
 */
export function uniformDraw(seed: bigint, choiceIndex: number, numCompletionTokens: number): number {
  const key = [Number(seed & 0xffffffffn), Number(seed >> 32n)] as const;
  const counter = [numCompletionTokens >>> 0, Math.floor(numCompletionTokens / TWO_POW_32), choiceIndex, 0] as const;
  const [word] = philox4x32([...counter], key);
  return (word >>> 8) * 2 ** -24;
}
