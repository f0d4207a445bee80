import type { GenerateResult, ModelTokenizer, TextDelta } from '@hearth/engine';

/** A token that could have come, and how likely it was. */
export interface TopLogprob {
  /** Of this token alone; what is no whole character is U+FFFD. */
  readonly text: string;
  readonly bytes: readonly number[];
  /** Natural logarithm. */
  readonly logprob: number;
}

/** A token of a text with its log-probability. */
export interface TextLogprob {
  /**
   * Its part of the text: those of all tokens joined are the text. Of a character that several tokens make, the last one has
   * all and the others have none; of a token in which a stop text begins, it is what comes before.
   */
  readonly text: string;
  readonly bytes: readonly number[];
  readonly logprob: number;
  /** Best first. */
  readonly top: readonly TopLogprob[];
}

/** Of a character in UTF-8. */
const mostBytes = 4;

/**
 * The log-probabilities of a text as it is shown: each comes out together with the text of its token, so that those of stop
 * texts and end tokens never do. For one text.
 */
export class TextLogprobs {
  readonly #tokenizer: ModelTokenizer;
  readonly #shownSpecialTokens: ReadonlySet<number>;
  readonly #detokenizer: ReturnType<ModelTokenizer['createDetokenizer']>;
  /** Runs of tokens that make whole characters together. */
  readonly #held: TextLogprob[][] = [];
  /** The run that has begun. */
  #unfinished: TextLogprob[] = [];
  /** The last bytes of all tokens. */
  #tail: readonly number[] = [];
  #numShown = 0;
  #numOut = 0;

  /** @param showSpecialTokens those that the text shows, as the generation was told */
  constructor(tokenizer: ModelTokenizer, showSpecialTokens: readonly number[] = []) {
    this.#tokenizer = tokenizer;
    this.#shownSpecialTokens = new Set(showSpecialTokens);
    // As the engine's own: other control tokens have no text, and the text goes on from a prompt.
    const keepSpecialTokens = this.#shownSpecialTokens;
    this.#detokenizer = tokenizer.createDetokenizer({ skipSpecialTokens: true, keepSpecialTokens, isStart: false });
  }

  /** Takes the next token, which was generated with `logprobs`, and returns those whose text is out now. */
  push({ tokenId, text, logprob, topLogprobs = [] }: Omit<TextDelta, 'type' | 'index'>): TextLogprob[] {
    const piece = this.#detokenizer.push(tokenId);
    const isShown = !this.#tokenizer.isSpecial(tokenId) || this.#shownSpecialTokens.has(tokenId);
    const bytes = isShown ? [...this.#tokenizer.tokenBytes(tokenId)] : [];
    this.#unfinished.push({
      text: piece,
      bytes,
      logprob: logprob!,
      top: topLogprobs.map((top) => readTopLogprob(this.#tokenizer, top)),
    });
    this.#tail = [...this.#tail, ...bytes.slice(-mostBytes)].slice(-mostBytes);
    if (piece !== '' && !endsInHalf(this.#tail)) {
      this.#held.push(this.#unfinished);
      this.#unfinished = [];
    }
    this.#numShown += text.length;
    const out: TextLogprob[] = [];
    while (this.#held.length > 0 && this.#numOut + lengthOf(this.#held[0]!) <= this.#numShown) {
      this.#numOut += lengthOf(this.#held[0]!);
      out.push(...this.#held.shift()!);
    }
    return out;
  }

  /** The text has ended: what is left of it. */
  finish({ text, stopTokenId }: Pick<GenerateResult, 'text' | 'stopTokenId'>): TextLogprob[] {
    const tokens = [...this.#held.splice(0).flat(), ...this.#unfinished.splice(0)];
    // Half a character at the end has become U+FFFD.
    let rest = this.#detokenizer.flush();
    if (stopTokenId !== undefined) rest = (tokens.pop()?.text ?? '') + rest;
    const numMissing = text.length - this.#numOut - lengthOf(tokens);
    // Unless a stop text has taken it.
    while (numMissing <= 0 && rest !== '' && tokens.at(-1)?.text === '') tokens.pop();
    if (numMissing <= 0) return cut(tokens, -numMissing);
    const last = tokens.pop();
    return last ? [...tokens, { ...last, text: last.text + rest.slice(0, numMissing) }] : [];
  }
}

/** A token that could have come, with its text. */
export function readTopLogprob(
  tokenizer: Pick<ModelTokenizer, 'tokenBytes'>,
  { tokenId, logprob }: NonNullable<TextDelta['topLogprobs']>[number],
): TopLogprob {
  const bytes = [...tokenizer.tokenBytes(tokenId)];
  return { text: Buffer.from(bytes).toString(), bytes, logprob };
}

/** Those of a text that is whole already. */
export function textLogprobs(tokenizer: ModelTokenizer, result: GenerateResult): TextLogprob[] {
  const collector = new TextLogprobs(tokenizer);
  result.logprobs!.forEach((token, index) => {
    collector.push({ tokenId: result.tokenIds[index]!, text: '', ...token });
  });
  return collector.finish(result);
}

function lengthOf(tokens: readonly TextLogprob[]): number {
  return tokens.reduce((length, { text }) => length + text.length, 0);
}

/** Takes so many UTF-16 units away from the end, and all tokens that had part in those only. */
function cut(tokens: TextLogprob[], numExcess: number): TextLogprob[] {
  let excess = numExcess;
  while (excess > 0 && tokens.length > 0) {
    const last = tokens.pop()!;
    if (last.text.length > excess) {
      const text = last.text.slice(0, -excess);
      return [...tokens, { ...last, text, bytes: [...Buffer.from(text)] }];
    }
    excess -= last.text.length;
    while (tokens.at(-1)?.text === '') tokens.pop();
  }
  return tokens;
}

/** Whether these bytes of UTF-8 end before the character that begins last in them does. */
function endsInHalf(bytes: readonly number[]): boolean {
  const begin = bytes.findLastIndex((byte) => byte >= 0xc0);
  if (begin < 0 || bytes.slice(begin + 1).some((byte) => byte < 0x80)) return false;
  const first = bytes[begin]!;
  return bytes.length - begin < (first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2);
}
