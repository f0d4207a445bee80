/**
 * Texts of others hold marks inside words that could control the model (see `template/control-words.ts`). A template that
 * looks for such a word, measures a text or changes it must get what it would get without the marks, and must not put the
 * word together again.
 */
export interface TextGuard {
  /** A text without marks, to compare and to measure it. */
  plain(text: string): string;
  /** How `part`, which the template looks for in `text`, stands there. */
  sought(part: string, text: string): string;
  /** Characters of a text; a mark counts as part of the character before it. */
  characters(text: string): string[];
  /** A text that the template made of `parts`, with marks inside words that were in none of them. */
  remade(text: string, parts: readonly string[]): string;
}
