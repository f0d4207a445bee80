import type { Vocabulary } from '../proposer.ts';
import { VocabularyMismatchError } from './vocabulary-mismatch-error.ts';

/**
 * Checks that every id stands for the same bytes in both vocabularies. Sizes may differ by rows of padding, which have no
 * text, as they do within families. Control tokens are left out: their names differ between a model and its relatives.
 *
 * @throws VocabularyMismatchError that names the first id that differs
 */
export function checkSameVocabulary(draft: Vocabulary, target: Vocabulary): void {
  if (draft.fingerprint === target.fingerprint) return;
  const numIds = Math.max(draft.vocabSize, target.vocabSize);
  for (let id = 0; id < numIds; id++) {
    if (draft.isSpecial(id) || target.isSpecial(id)) continue;
    const [inDraft, inTarget] = [draft.tokenBytes(id), target.tokenBytes(id)];
    if (areEqual(inDraft, inTarget)) continue;
    throw new VocabularyMismatchError(id, textOf(inDraft), textOf(inTarget));
  }
}

function areEqual(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, i) => byte === b[i]);
}

/** Bytes that are no text of their own show as U+FFFD; it is for people. */
function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
