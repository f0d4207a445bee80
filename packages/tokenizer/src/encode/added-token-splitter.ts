import type { AddedToken } from '../tokenizer-definition.ts';
import { LiteralMatcher } from './literal-matcher.ts';

/** A stretch of text, or a token that stands in it. */
export type Stretch = { text: string } | { token: AddedToken };

/** Cuts texts at added tokens by the rules of Hugging Face tokenizers (`AddedVocabulary`). */
export class AddedTokenSplitter {
  readonly #tokens: readonly AddedToken[];
  readonly #matcher: LiteralMatcher;

  /** @param spell how a token is spelled in the texts that will be cut */
  constructor(tokens: readonly AddedToken[], spell: (token: AddedToken) => string = (token) => token.content) {
    this.#tokens = tokens;
    this.#matcher = new LiteralMatcher(tokens.map(spell));
  }

  /** @param parseSpecial whether special tokens are cut out too; otherwise they stay text */
  split(text: string, parseSpecial: boolean): Stretch[] {
    const stretches: Stretch[] = [];
    let end = 0;
    for (const match of this.#matcher.findAll(text)) {
      const token = this.#tokens[match.literal] as AddedToken;
      if (token.special && !parseSpecial) continue;
      if (token.singleWord && !standsAlone(text, match.start, match.end)) continue;
      // White space that the token before has swallowed is gone already.
      const start = Math.max(end, token.lstrip ? skipBlanksBackward(text, match.start) : match.start);
      if (start > end) stretches.push({ text: text.slice(end, start) });
      stretches.push({ token });
      end = token.rstrip ? skipBlanksForward(text, match.end) : match.end;
    }
    if (end < text.length) stretches.push({ text: text.slice(end) });
    return stretches;
  }
}

const blank = /^\p{White_Space}$/u;
/** Word characters as the reference's regular expressions understand them. */
const wordCharacter = /^[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]$/u;

/** First position from `start` on that is no white space. */
export function skipBlanksForward(text: string, start: number): number {
  let position = start;
  while (position < text.length && blank.test(text[position] as string)) position++;
  return position;
}

/** Start of the white space that ends before `end`. All white space is a single UTF-16 unit. */
export function skipBlanksBackward(text: string, end: number): number {
  let position = end;
  while (position > 0 && blank.test(text[position - 1] as string)) position--;
  return position;
}

function standsAlone(text: string, start: number, end: number): boolean {
  const after = text.codePointAt(end);
  return (
    !wordCharacter.test(characterBefore(text, start)) &&
    !(after !== undefined && wordCharacter.test(String.fromCodePoint(after)))
  );
}

function characterBefore(text: string, position: number): string {
  const pair = text.slice(Math.max(position - 2, 0), position);
  return (pair.codePointAt(0) ?? 0) > 0xffff ? pair : pair.slice(-1);
}
