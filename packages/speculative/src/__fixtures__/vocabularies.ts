import type { Vocabulary } from '../proposer.ts';

/** A vocabulary whose token i is `texts[i]`; undefined for control tokens. */
export function vocabularyOf(texts: readonly (string | undefined)[], fingerprint = JSON.stringify(texts)): Vocabulary {
  return {
    vocabSize: texts.length,
    fingerprint,
    tokenBytes: (id) => new TextEncoder().encode(texts[id] ?? ''),
    isSpecial: (id) => id < texts.length && texts[id] === undefined,
  };
}

/** Ten tokens, the digits. */
export const digits = vocabularyOf([...'0123456789']);
