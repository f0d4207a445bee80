import { ContextLengthError, InvalidArgumentError } from '@hearth/core';

/**
 * Checks token ids that are to follow `length` tokens.
 * @throws InvalidArgumentError that names the place and the value
 * @throws ContextLengthError when they do not fit
 */
export function checkTokens(
  tokenIds: ArrayLike<number>,
  length: number,
  limits: { readonly vocabSize: number; readonly contextLength: number },
): void {
  if (tokenIds === null || typeof tokenIds !== 'object' || !Number.isSafeInteger(tokenIds.length)) {
    throw new InvalidArgumentError(`Token ids must be an array of numbers, got ${typeof tokenIds}.`);
  }
  if (length + tokenIds.length > limits.contextLength) {
    throw new ContextLengthError(length + tokenIds.length, limits.contextLength);
  }
  for (let i = 0; i < tokenIds.length; i++) {
    const id = tokenIds[i]!;
    if (!Number.isInteger(id) || id < 0 || id >= limits.vocabSize) {
      throw new InvalidArgumentError(
        `Token ids are integers from 0 to ${limits.vocabSize - 1}, got ${String(id)} at place ${i}.`,
        { details: { index: i, value: id, vocabSize: limits.vocabSize } },
      );
    }
  }
}
