import { InvalidArgumentError } from '@hearth/core';
import type { VocabularyTables } from './worker/token-texts.ts';

/** What constraints need to know of a tokenizer. `Tokenizer` of @hearth/tokenizer is one. */
export interface Vocabulary {
  /** One more than the largest token id. */
  readonly vocabSize: number;
  /** Tokens that end a text; at least one. */
  readonly eosTokenIds: readonly number[];
  /** Bytes of text that a token adds; empty when there is no such token. */
  tokenBytes(id: number): Uint8Array;
  /** Whether the token controls the model, so that it is no text. */
  isSpecial(id: number): boolean;
}

export interface VocabularyOptions {
  /** Rows of the model's output, when it has more than the tokenizer has tokens. */
  readonly vocabSize?: number | undefined;
  /** Tokens that end a text. Default: those of the vocabulary. */
  readonly endTokenIds?: readonly number[] | undefined;
}

/**
 * Copies a vocabulary into flat tables.
 * @throws InvalidArgumentError without end tokens, or with ones outside the vocabulary
 */
export function vocabularyTables(vocabulary: Vocabulary, options: VocabularyOptions): VocabularyTables {
  const { vocabSize = vocabulary.vocabSize, endTokenIds = vocabulary.eosTokenIds } = options;
  if (!Number.isInteger(vocabSize) || vocabSize < vocabulary.vocabSize) {
    throw new InvalidArgumentError(
      `vocabSize must be a whole number from ${vocabulary.vocabSize}, the size of the vocabulary, but it is ${vocabSize}.`,
    );
  }
  if (endTokenIds.length === 0 || !endTokenIds.every((id) => Number.isInteger(id) && id >= 0 && id < vocabSize)) {
    throw new InvalidArgumentError(
      `endTokenIds must be at least one token id from 0 to ${vocabSize - 1}, but they are [${endTokenIds.join(', ')}]. Without them no constrained text can end.`,
    );
  }
  const ends = new Set(endTokenIds);
  const texts: Uint8Array[] = [];
  const offsets = new Uint32Array(vocabSize + 1);
  for (let id = 0; id < vocabSize; id++) {
    const isText = id < vocabulary.vocabSize && !ends.has(id) && !vocabulary.isSpecial(id);
    const bytes = isText ? vocabulary.tokenBytes(id) : new Uint8Array();
    texts.push(bytes);
    offsets[id + 1] = offsets[id]! + bytes.length;
  }
  const bytes = new Uint8Array(offsets[vocabSize]!);
  texts.forEach((text, id) => {
    bytes.set(text, offsets[id]);
  });
  return { vocabSize, bytes, offsets, endTokenIds: [...ends] };
}
