import { InvalidArgumentError, type TokenMask } from '@hearth/core';
import type { TokenConstraint } from './generate-options.ts';
import { ownMask } from './own-mask.ts';

/** The masks that a constraint gives for the next token of a completion, and for those after its guesses. Each is asked for once. */
export class ConstraintMasks {
  readonly #constraint: TokenConstraint;
  readonly #vocabSize: number;
  /** Tokens of the completion that the masks are for. */
  #length = -1;
  #masks: readonly (TokenMask | undefined)[] = [];
  #asking: Promise<void> | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(constraint: TokenConstraint, vocabSize: number) {
    this.#constraint = constraint;
    this.#vocabSize = vocabSize;
  }

  /** Asks for the masks unless that was done. Resolves when they are there; undefined when they are. Never rejects. */
  ask(completionTokenIds: readonly number[], guesses: readonly number[]): Promise<void> | undefined {
    if (this.#length !== completionTokenIds.length && !this.#failure) {
      this.#length = completionTokenIds.length;
      this.#masks = [];
      this.#asking = this.#ask(completionTokenIds.slice(), guesses.slice());
    }
    return this.#asking;
  }

  /** How many guesses may run: those that the constraint allows, in the state that the masks are for. */
  numAllowedGuesses(numTokens: number): number {
    return this.#length === numTokens ? Math.max(0, this.#masks.length - 1) : 0;
  }

  /**
   * The mask for the token after `row` guesses.
   * @throws what the constraint has failed with
   */
  at(row: number): TokenMask | undefined {
    if (this.#failure) throw this.#failure.error;
    return this.#masks[row];
  }

  async #ask(completionTokenIds: readonly number[], guesses: readonly number[]): Promise<void> {
    try {
      const masks = await this.#constraint.nextMasks(completionTokenIds, guesses);
      if (!Array.isArray(masks) || masks.length < 1 || masks.length > guesses.length + 1) {
        throw new InvalidArgumentError(
          `A constraint must give 1 to ${guesses.length + 1} masks here: one for the next token and one after each guess.`,
        );
      }
      this.#masks = masks.map((mask) => ownMask(mask, this.#vocabSize));
    } catch (error) {
      this.#failure = { error };
    } finally {
      this.#asking = undefined;
    }
  }
}
