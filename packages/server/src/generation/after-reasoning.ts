import type { ReasoningBlock } from '@hearth/chat-format';
import type { TokenMask } from '@hearth/core';
import type { TokenConstraint } from '@hearth/engine';
import {
  firstState,
  nextState,
  type ReasoningState,
  tokensAgainstAnswer,
  tokensBeforeAnswer,
} from './reasoning-state.ts';
import type { ReasoningTokens } from './reasoning-tokens.ts';

export interface AfterReasoningOptions {
  /** What the answer has to obey. It sees the tokens of the answer only. */
  readonly answer: TokenConstraint;
  readonly block: ReasoningBlock;
  readonly tokens: ReasoningTokens;
  readonly vocabSize: number;
}

/**
 * Lets a model think as it likes and holds its answer to a constraint. The text cannot end among the thoughts, and the block
 * ends where the answer can begin: no token may have the end of the one and the beginning of the other.
 */
export class AfterReasoning implements TokenConstraint {
  readonly #options: AfterReasoningOptions;
  #state: ReasoningState;
  #numSeen = 0;

  constructor(options: AfterReasoningOptions) {
    this.#options = options;
    this.#state = firstState(options.block, options.tokens);
  }

  async nextMasks(
    completionTokenIds: readonly number[],
    guesses: readonly number[],
  ): Promise<readonly (TokenMask | undefined)[]> {
    const { answer, tokens } = this.#options;
    const numKnown = completionTokenIds.length;
    for (; this.#numSeen < numKnown; this.#numSeen++) {
      this.#state = nextState(this.#state, tokens, completionTokenIds[this.#numSeen]!, this.#numSeen);
    }
    let state = this.#state;
    const masks: (TokenMask | undefined)[] = [];
    for (let position = 0; position <= guesses.length; position++) {
      if (state.phase === 'answer') {
        const known = completionTokenIds.slice(state.begin);
        const numBefore = Math.max(0, state.begin - numKnown);
        const answerMasks = await answer.nextMasks(known, guesses.slice(numBefore));
        return [...masks, ...answerMasks.slice(position - numBefore)];
      }
      masks.push(await this.#mask(state));
      if (position < guesses.length) state = nextState(state, tokens, guesses[position]!, numKnown + position);
    }
    return masks;
  }

  async #mask(state: Exclude<ReasoningState, { phase: 'answer' }>): Promise<TokenMask | undefined> {
    const { answer, tokens, vocabSize } = this.#options;
    if (state.phase === 'block') {
      const forbidden = tokensAgainstAnswer(state.tail, tokens);
      const mask = new Uint32Array(Math.ceil(vocabSize / 32)).fill(0xffffffff);
      for (const id of forbidden) mask[id >>> 5]! &= ~(1 << (id & 31));
      return mask;
    }
    const [first] = await answer.nextMasks([], []);
    if (!first) return undefined;
    const mask = first.slice();
    for (const id of tokensBeforeAnswer(state, tokens)) mask[id >>> 5]! |= 1 << (id & 31);
    return mask;
  }
}
