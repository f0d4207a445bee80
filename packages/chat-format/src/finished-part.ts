/** Scripts that put no blanks between words. */
const spaceless =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;

/** Longer than any word, and short enough to be looked at with every key. In UTF-16 units. */
const mostLookedAt = 64;

const words = new Intl.Segmenter('en', { granularity: 'word' });

/**
 * A message that is being written, without its unfinished end: the white space at its end, or the last word with the white
 * space before it. Tokens of these are likely to become others with the next key.
 */
export function finishedPart(draft: string): string {
  let end = draft.length;
  while (end > 0 && draft[end - 1]!.trim() !== '') end--;
  const lastRun = draft.slice(end);
  if (!spaceless.test(lastRun)) return draft.slice(0, end).trimEnd();
  // Where nothing stands between words, a dictionary says where the last one begins.
  const lookedAt = lastRun.slice(-mostLookedAt);
  const { index } = [...words.segment(lookedAt)].at(-1)!;
  return draft.slice(0, draft.length - lookedAt.length + index).trimEnd();
}
