import type { GenerateResult, ModelTokenizer, TextDelta } from '@hearth/engine';

/** A token of a text, with what the model thought of it. */
export interface TextToken {
  readonly tokenId: number;
  /**
   * Its part of the text: those of all tokens joined are the text. Of a character that several tokens make, the last one has
   * all and the others have none; of a token in which a stop text begins, it is what comes before.
   */
  readonly text: string;
  readonly logprob: number;
  /** Best first. */
  readonly topLogprobs: NonNullable<TextDelta['topLogprobs']>;
}

/** Of a character in UTF-8. */
const mostBytes = 4;

/**
 * Holds the tokens of a streamed text back until their text is out, so that none is shown of a stop text or of the end token.
 * For one text. As many characters are held as the engine holds, and whole ones only.
 */
export class TextLogprobs {
  readonly #tokenizer: ModelTokenizer;
  readonly #detokenizer: ReturnType<ModelTokenizer['createDetokenizer']>;
  /** Runs of tokens that make whole characters together. */
  readonly #held: TextToken[][] = [];
  /** The run that has begun. */
  #unfinished: TextToken[] = [];
  /** The last bytes of all tokens. */
  #tail: readonly number[] = [];
  #numShown = 0;
  #numOut = 0;

  constructor(tokenizer: ModelTokenizer) {
    this.#tokenizer = tokenizer;
    // As the engine's own: control tokens have no text, and the text goes on from a prompt.
    this.#detokenizer = tokenizer.createDetokenizer({ skipSpecialTokens: true, isStart: false });
  }

  /** Takes the next token and returns those whose text is out with the text that came with it. */
  push(delta: Pick<TextDelta, 'tokenId' | 'text' | 'logprob' | 'topLogprobs'>): TextToken[] {
    const { tokenId, text, logprob = 0, topLogprobs = [] } = delta;
    const piece = this.#detokenizer.push(tokenId);
    this.#unfinished.push({ tokenId, text: piece, logprob, topLogprobs });
    this.#tail = [...this.#tail, ...this.#tokenizer.tokenBytes(tokenId).slice(-mostBytes)].slice(-mostBytes);
    if (piece !== '' && !endsInHalf(this.#tail)) {
      this.#held.push(this.#unfinished);
      this.#unfinished = [];
    }
    this.#numShown += text.length;
    const out: TextToken[] = [];
    while (this.#held.length > 0 && this.#numOut + lengthOf(this.#held[0]!) <= this.#numShown) {
      this.#numOut += lengthOf(this.#held[0]!);
      out.push(...this.#held.shift()!);
    }
    return out;
  }

  /** The rest, when the text is whole. */
  end({ text, stopTokenId }: Pick<GenerateResult, 'text' | 'stopTokenId'>): TextToken[] {
    const tokens = [...this.#held.splice(0).flat(), ...this.#unfinished.splice(0)];
    // Half a character at the end has become U+FFFD.
    let rest = this.#detokenizer.flush();
    if (stopTokenId !== undefined) rest = (tokens.pop()?.text ?? '') + rest;
    appendText(tokens, rest);
    return cut(tokens, lengthOf(tokens) - (text.length - this.#numOut));
  }
}

/** The tokens of a text that is whole already. */
export function textTokens(tokenizer: ModelTokenizer, result: GenerateResult): TextToken[] {
  const collector = new TextLogprobs(tokenizer);
  result.tokenIds.forEach((tokenId, index) => void collector.push({ tokenId, text: '', ...result.logprobs?.[index] }));
  return collector.end(result);
}

function lengthOf(tokens: readonly TextToken[]): number {
  return tokens.reduce((length, { text }) => length + text.length, 0);
}

function appendText(tokens: TextToken[], text: string): void {
  const last = tokens.pop();
  if (last) tokens.push({ ...last, text: last.text + text });
}

/** Takes so many characters away from the end, and all tokens that had part in those only. */
function cut(tokens: TextToken[], numExcess: number): TextToken[] {
  let excess = numExcess;
  while (excess > 0 && tokens.length > 0) {
    const last = tokens.pop()!;
    if (last.text.length > excess) tokens.push({ ...last, text: last.text.slice(0, -excess) });
    excess -= last.text.length;
    if (excess < 0) break;
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
