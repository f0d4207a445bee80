import { DisposedError, InvalidArgumentError, type TokenMask } from '@hearth/core';
import type { GrammarThread } from './grammar-thread.ts';

/**
 * Follows one generation under a constraint. Ask for one mask after the other: each call is told all tokens so far, or
 * those of the last call and more. Dispose it when the generation is over.
 */
export class ConstraintMatcher {
  readonly #thread: GrammarThread;
  readonly #source: string;
  readonly #endTokenIds: readonly number[];
  readonly #id: number;
  readonly #tokenIds: number[] = [];
  #isThere = false;
  #isComplete = false;
  #isDisposed = false;
  #isAsking = false;
  /** Once a text has left the constraint, no mask is ever given again. */
  #failure: unknown;

  /** Use `Constraint.start`. */
  constructor(thread: GrammarThread, source: string, endTokenIds: readonly number[], id: number) {
    this.#thread = thread;
    this.#source = source;
    this.#endTokenIds = endTokenIds;
    this.#id = id;
    thread.numUsers++;
  }

  /**
   * Whether the text that the last mask was made for is whole: it may end there. False before the first mask. It goes on
   * being true when an end token comes behind it.
   */
  get isComplete(): boolean {
    return this.#isComplete;
  }

  /**
   * The tokens that may come next, as bits. End tokens are among them exactly when the text may end, and alone when it
   * has to.
   *
   * @param completionTokenIds every token so far, without those of the prompt
   * @throws ConstraintError when one of them does not obey the constraint, when the text is over, when no token can go on,
   * or when the constraint takes too much; InvalidArgumentError when the tokens of the last call do not come first;
   * DisposedError
   */
  async nextMask(completionTokenIds: readonly number[]): Promise<TokenMask> {
    const [mask] = await this.nextMasks(completionTokenIds, []);
    return mask!;
  }

  /**
   * As `nextMask`, and then the masks for the token after each guess, for models that check guesses in one step. There are
   * fewer than guesses plus one when a guess is not allowed or ends the text: what follows it is of no use.
   */
  async nextMasks(completionTokenIds: readonly number[], guesses: readonly number[]): Promise<readonly TokenMask[]> {
    if (this.#isDisposed) throw new DisposedError('constraint matcher');
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#isAsking)
      throw new InvalidArgumentError('A matcher makes one mask after the other. Wait for the last one.');
    this.#checkTokens(completionTokenIds);
    const tokenIds = completionTokenIds.slice();
    this.#isAsking = true;
    try {
      const masks = await this.#ask(tokenIds, guesses);
      this.#tokenIds.push(...tokenIds.slice(this.#tokenIds.length));
      this.#isThere = true;
      this.#isComplete = this.#endTokenIds.some((id) => ((masks[0]![id >>> 5]! >>> (id & 31)) & 1) === 1);
      return masks;
    } catch (error) {
      this.#failure = error;
      throw error;
    } finally {
      this.#isAsking = false;
    }
  }

  /** Frees what the thread holds. Safe at any moment and as often as you like. */
  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.#thread.numUsers--;
    this.#thread.close(this.#id);
  }

  async #ask(tokenIds: readonly number[], guesses: readonly number[]): Promise<readonly TokenMask[]> {
    const numAccepted = this.#tokenIds.length;
    const matcher = this.#id;
    if (this.#isThere) {
      const newTokenIds = tokenIds.slice(numAccepted);
      const output = await this.#thread.masks({ matcher, numAccepted, newTokenIds, guesses });
      if (output !== undefined) return output.masks;
    }
    // The first time, or the thread was replaced because another constraint exceeded its limits.
    const all = { matcher, source: this.#source, numAccepted: 0, newTokenIds: tokenIds, guesses };
    return (await this.#thread.masks(all))!.masks;
  }

  #checkTokens(tokenIds: readonly number[]): void {
    if (this.#tokenIds.every((id, index) => id === tokenIds[index])) return;
    throw new InvalidArgumentError(
      'The completion must begin with the tokens that the last mask was made for. Start another matcher for another text.',
    );
  }
}
