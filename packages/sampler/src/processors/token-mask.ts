import { InvalidArgumentError, type TokenMask } from '@hearth/core';
import { describeValue, invalidField } from '../params/check.ts';
import type { LogitProcessor } from './processor.ts';

const ALL_ALLOWED = 0xffffffff;

/** Bans what the mask of this call does not allow. Without a mask it does nothing. */
export const tokenMask: LogitProcessor = {
  stage: 'logits',
  name: 'mask',
  process(logits, { mask }) {
    if (mask === undefined) return;
    const vocabSize = logits.length;
    checkTokenMask(mask, vocabSize);
    for (let first = 0, word = 0; first < vocabSize; first += 32, word++) {
      const allowed = mask[word]! >>> 0;
      if (allowed === ALL_ALLOWED) continue;
      const end = Math.min(first + 32, vocabSize);
      for (let tokenId = first; tokenId < end; tokenId++) {
        if (((allowed >>> (tokenId - first)) & 1) === 0) logits[tokenId] = Number.NEGATIVE_INFINITY;
      }
    }
  },
};

/**
 * A mask that allows the given tokens only.
 *
 * @throws InvalidArgumentError when an id lies outside the vocabulary
 */
export function createTokenMask(vocabSize: number, allowedTokenIds: Iterable<number>): Uint32Array {
  const mask = new Uint32Array(Math.ceil(vocabSize / 32));
  for (const tokenId of allowedTokenIds) {
    if (tokenId >>> 0 !== tokenId || tokenId >= vocabSize) {
      throw invalidField('allowedTokenIds', `token ids from 0 to ${vocabSize - 1}`, tokenId);
    }
    mask[tokenId >>> 5]! |= 1 << (tokenId & 31);
  }
  return mask;
}

/** @throws InvalidArgumentError when it is no mask for the vocabulary */
export function checkTokenMask(mask: unknown, vocabSize: number): asserts mask is TokenMask {
  const numWords = Math.ceil(vocabSize / 32);
  const expected = `a Uint32Array or Int32Array of at least ${numWords} words for ${vocabSize} tokens`;
  if (!(mask instanceof Uint32Array || mask instanceof Int32Array)) throw invalidField('mask', expected, mask);
  if (mask.length < numWords) {
    throw new InvalidArgumentError(`mask must be ${expected}, but got ${describeValue(mask.length)} words.`, {
      details: { field: 'mask', expected, received: mask.length },
    });
  }
}
