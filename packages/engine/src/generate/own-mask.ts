import type { TokenMask } from '@hearth/core';
import { checkTokenMask } from '@hearth/sampler';

/**
 * A copy of a mask: the caller may use the same array for its next one before this one has been looked at.
 * @throws InvalidArgumentError when it is no mask for the vocabulary
 */
export function ownMask(mask: TokenMask | undefined, vocabSize: number): TokenMask | undefined {
  if (mask === undefined) return undefined;
  checkTokenMask(mask, vocabSize);
  return mask.slice();
}
