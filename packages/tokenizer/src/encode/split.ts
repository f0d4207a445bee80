import type { SplitBehavior } from '../read/pre-tokenizer-steps.ts';

interface Piece {
  text: string;
  isMatch: boolean;
}

/**
 * Cuts a text at the matches of a pattern; `behavior` says what becomes of the matches, as in the `Split` pre-tokenizer
 * of Hugging Face tokenizers. For `the-final--cut` and `-`:
 *
 * | Removed            | `the` `final` `cut`         |
 * | Isolated           | `the` `-` `final` `-` `-` `cut` |
 * | MergedWithPrevious | `the-` `final-` `-` `cut`   |
 * | MergedWithNext     | `the` `-final` `-` `-cut`   |
 * | Contiguous         | `the` `-` `final` `--` `cut` |
 *
 * @param pattern a regular expression with the flag `g`
 * @param invert takes what lies between the matches for the matches
 */
export function split(text: string, pattern: RegExp, behavior: SplitBehavior, invert: boolean): string[] {
  const pieces = cut(text, pattern, invert);
  switch (behavior) {
    case 'Isolated':
      return pieces.map((piece) => piece.text);
    case 'Removed':
      return pieces.filter((piece) => !piece.isMatch).map((piece) => piece.text);
    case 'Contiguous':
      return join(pieces, (piece, previous) => piece.isMatch === previous.isMatch);
    case 'MergedWithPrevious':
      return join(pieces, (piece, previous) => piece.isMatch && !previous.isMatch);
    case 'MergedWithNext':
      return join(pieces, (piece, previous) => !piece.isMatch && previous.isMatch);
  }
}

function cut(text: string, pattern: RegExp, invert: boolean): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), isMatch: invert });
    if (match[0] !== '') pieces.push({ text: match[0], isMatch: !invert });
    end = match.index + match[0].length;
  }
  if (end < text.length) pieces.push({ text: text.slice(end), isMatch: invert });
  return pieces;
}

/** Appends a piece to the one before it where `belongs` says so. */
function join(pieces: readonly Piece[], belongs: (piece: Piece, previous: Piece) => boolean): string[] {
  const joined: string[] = [];
  pieces.forEach((piece, index) => {
    const previous = pieces[index - 1];
    if (previous !== undefined && belongs(piece, previous)) joined.push(joined.pop() + piece.text);
    else joined.push(piece.text);
  });
  return joined;
}
