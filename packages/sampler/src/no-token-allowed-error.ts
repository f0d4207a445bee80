import { HearthError } from '@hearth/core';

/** The mask, or a custom processor, has banned every token of the vocabulary, so there is nothing to choose from. */
export class NoTokenAllowedError extends HearthError {
  constructor(vocabSize: number) {
    super(
      'no_token_allowed',
      `At least one of the ${vocabSize} tokens must be allowed, but the mask and processors have banned them all. ` +
        'End the text here, or let the mask allow an end-of-text token.',
      { details: { vocabSize } },
    );
  }
}
