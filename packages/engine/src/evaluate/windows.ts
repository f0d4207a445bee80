/** A stretch of a text that is run at once: tokens [begin, end), of which those from `scoreFrom` on are scored. */
export interface Window {
  readonly begin: number;
  readonly scoreFrom: number;
  readonly end: number;
}

/**
 * Windows of `length` tokens, `stride` apart. Every token is scored once, in the first window that reaches it; from the
 * second window on it then has at least length − stride tokens before it. Without a token that precedes the text (BOS) its
 * first token follows nothing and is not scored.
 */
export function* slidingWindows(
  numTokens: number,
  { length, stride, scoresFirst }: { readonly length: number; readonly stride: number; readonly scoresFirst: boolean },
): Generator<Window> {
  let scored = scoresFirst ? 0 : 1;
  for (let begin = 0; scored < numTokens; begin += stride) {
    const end = Math.min(begin + length, numTokens);
    yield { begin, scoreFrom: scored, end };
    scored = end;
  }
}
