import type { GrammarMatcher } from '@mlc-ai/web-xgrammar';
import { ConstraintError } from '../constraint-error.ts';
import type { TokenTexts } from './token-texts.ts';
import { advanceUtf8, invalidUtf8, type Utf8State } from './utf8.ts';

/** Follows one text, token by token, and says which tokens may come next. */
export class TokenMatcher {
  /** Tokens that were accepted. */
  length = 0;
  readonly #matcher: GrammarMatcher;
  readonly #texts: TokenTexts;
  #utf8: Utf8State = 0;

  constructor(matcher: GrammarMatcher, texts: TokenTexts) {
    this.#matcher = matcher;
    this.#texts = texts;
  }

  /** @throws ConstraintError when a token is not allowed; those before it stay accepted */
  accept(tokenIds: Iterable<number>): void {
    for (const id of tokenIds) {
      if (this.#matcher.isTerminated()) {
        throw new ConstraintError(`The constrained text is over, but token ${id} came after its end.`, {
          details: { tokenId: id, position: this.length },
        });
      }
      const utf8 = this.#texts.has(id) ? advanceUtf8(this.#utf8, this.#texts.bytesOf(id)) : invalidUtf8;
      if (utf8 === invalidUtf8 || !this.#matcher.acceptToken(id)) {
        throw new ConstraintError(`Token ${id} does not obey the constraint after ${this.length} tokens.`, {
          details: { tokenId: id, position: this.length },
        });
      }
      this.#utf8 = utf8;
      this.length++;
    }
  }

  /**
   * The tokens that may come next, and then those that may come after each guess, up to the first guess that is not allowed
   * or ends the text. The guesses are not accepted.
   *
   * @throws ConstraintError when the text is over, or no token can go on
   */
  async masks(guesses: readonly number[]): Promise<Uint32Array<ArrayBuffer>[]> {
    const utf8 = this.#utf8;
    const { length } = this;
    const masks = [await this.#mask()];
    for (const guess of guesses) {
      if (!isAllowed(masks.at(-1)!, guess) || this.#texts.isEnd(guess)) break;
      this.accept([guess]);
      masks.push(await this.#mask());
    }
    if (this.length > length) this.#matcher.rollBack(this.length - length);
    this.length = length;
    this.#utf8 = utf8;
    return masks;
  }

  dispose(): void {
    this.#matcher.dispose();
  }

  async #mask(): Promise<Uint32Array<ArrayBuffer>> {
    if (this.#matcher.isTerminated()) throw new ConstraintError('The constrained text is over; no token can follow.');
    const bits = await this.#matcher.getNextTokenBitmask();
    const mask = new Uint32Array(bits.buffer as ArrayBuffer, bits.byteOffset, bits.length);
    this.#texts.keepUtf8(mask, this.#utf8);
    if (mask.some((word) => word !== 0)) return mask;
    throw new ConstraintError(
      `No token of the vocabulary can go on after ${this.length} tokens: no text obeys the constraint, or it needs characters that the vocabulary cannot write.`,
      { details: { position: this.length } },
    );
  }
}

const isAllowed = (mask: Uint32Array, id: number): boolean => ((mask[id >>> 5]! >>> (id & 31)) & 1) === 1;
