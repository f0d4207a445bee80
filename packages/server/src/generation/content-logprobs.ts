import type { TextLogprob } from './text-logprobs.ts';

interface Placed {
  /** Where it begins in the text, in UTF-16 units. */
  readonly begin: number;
  readonly token: TextLogprob;
}

/**
 * Picks out of the tokens of a text those of its content, which thoughts, calls and their markers are not part of. Joined, they
 * are the content: of a token that is content in part, it is that part.
 */
export class ContentLogprobs {
  #text = '';
  /** Parts of the text that are content. */
  readonly #ranges: { readonly begin: number; end: number }[] = [];
  readonly #tokens: Placed[] = [];
  #end = 0;

  /** Takes tokens whose text was read, in order. */
  add(tokens: readonly TextLogprob[]): void {
    for (const token of tokens) {
      this.#tokens.push({ begin: this.#end, token });
      this.#end += token.text.length;
    }
  }

  /** Takes the next UTF-16 unit of the text, or an empty one at its end, and the content that it made certain. */
  read(unit: string, content: string): void {
    const before = this.#text.length;
    this.#text += unit;
    if (content === '') return;
    const last = this.#ranges.at(-1);
    // What was held back ends before the unit that showed what it is, or with it.
    const isBefore = before - content.length >= (last?.end ?? 0) && this.#text.endsWith(content + unit);
    const end = isBefore ? before : this.#text.length;
    const begin = end - content.length;
    if (last?.end === begin) last.end = end;
    else this.#ranges.push({ begin, end });
  }

  /** Those that are certain to be of the content, since the last time. At the end of the text all are certain. */
  take(isEnd = false): TextLogprob[] {
    const certain = isEnd ? this.#end : (this.#ranges.at(-1)?.end ?? 0);
    const out: TextLogprob[] = [];
    for (;;) {
      // A character that several tokens make is the text of the last one.
      const last = this.#tokens.findIndex(({ token }) => token.text !== '');
      if (last < 0) return out;
      const { begin, token } = this.#tokens[last]!;
      if (begin + token.text.length > certain) return out;
      const run = this.#tokens.splice(0, last + 1).map((placed) => placed.token);
      const text = this.#contentOf(begin, token.text);
      if (text === token.text) out.push(...run);
      else if (text !== '') out.push({ ...token, text, bytes: [...Buffer.from(text)] });
    }
  }

  #contentOf(begin: number, text: string): string {
    return this.#ranges
      .map((range) => text.slice(Math.max(0, range.begin - begin), Math.max(0, range.end - begin)))
      .join('');
  }
}
