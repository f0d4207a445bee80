import type { ReasoningBlock } from '@hearth/chat-format';
import type { TokenMask } from '@hearth/core';
import type { TokenConstraint } from '@hearth/engine';
import { createTokenMask } from '@hearth/sampler';
import { firstState, nextState, type ReasoningState } from './reasoning-state.ts';
import type { ReasoningTokens } from './reasoning-tokens.ts';

export interface ReasoningBudgetOptions {
  /** Most tokens between the markers of the block, without those that end its last line. */
  readonly budget: number;
  readonly block: ReasoningBlock;
  readonly tokens: ReasoningTokens;
  readonly vocabSize: number;
  /** What the text has to obey besides. It has to allow the end of the block. */
  readonly inner?: TokenConstraint | undefined;
}

interface BudgetState {
  readonly reasoning: ReasoningState;
  /** What is still to be written to end the block. */
  readonly ending: readonly number[];
}

/** Ends the block in which a model thinks after so many tokens, and lets it go on with its answer. */
export class ReasoningBudget implements TokenConstraint {
  readonly #options: ReasoningBudgetOptions;
  #state: BudgetState;
  #numSeen = 0;

  constructor(options: ReasoningBudgetOptions) {
    this.#options = options;
    this.#state = this.#watch(firstState(options.block, options.tokens));
  }

  async nextMasks(
    completionTokenIds: readonly number[],
    guesses: readonly number[],
  ): Promise<readonly (TokenMask | undefined)[]> {
    const { inner } = this.#options;
    const numKnown = completionTokenIds.length;
    for (; this.#numSeen < numKnown; this.#numSeen++) {
      this.#state = this.#next(this.#state, completionTokenIds[this.#numSeen]!, this.#numSeen);
    }
    const innerMasks = inner
      ? await inner.nextMasks(completionTokenIds, guesses)
      : Array.from({ length: guesses.length + 1 }, () => undefined);
    const masks: (TokenMask | undefined)[] = [];
    let state = this.#state;
    for (const [position, innerMask] of innerMasks.entries()) {
      const [forced] = state.ending;
      masks.push(forced === undefined ? innerMask : createTokenMask(this.#options.vocabSize, [forced]));
      const guess = guesses[position];
      if (guess === undefined || (forced !== undefined && guess !== forced)) break;
      state = this.#next(state, guess, numKnown + position);
    }
    return masks;
  }

  #next(state: BudgetState, tokenId: number, index: number): BudgetState {
    const reasoning = nextState(state.reasoning, this.#options.tokens, tokenId, index);
    return state.ending.length > 0 ? { reasoning, ending: state.ending.slice(1) } : this.#watch(reasoning);
  }

  #watch(reasoning: ReasoningState): BudgetState {
    const { budget, tokens } = this.#options;
    if (reasoning.phase !== 'block' || reasoning.numTokens < budget) return { reasoning, ending: [] };
    return { reasoning, ending: /^$|\n$/.test(reasoning.tail) ? tokens.endIds : tokens.endLineIds };
  }
}
