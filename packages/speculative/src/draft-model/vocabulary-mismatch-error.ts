import { HearthError } from '@hearth/core';

/** A draft model's token ids stand for other texts than those of the model that it is to guess for. */
export class VocabularyMismatchError extends HearthError {
  constructor(tokenId: number, draftText: string, targetText: string) {
    super(
      'vocabulary_mismatch',
      `A draft model must have the vocabulary of the model that it guesses for, but token ${tokenId} is ` +
        `${JSON.stringify(draftText)} in the draft and ${JSON.stringify(targetText)} in the model. ` +
        'Take a smaller model of the same family.',
      { details: { tokenId, draftText, targetText } },
    );
  }
}
