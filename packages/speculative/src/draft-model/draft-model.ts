import { DisposedError, InvalidArgumentError } from '@hearth/core';
import type { Proposer, SequenceProposer, TargetModel, Vocabulary } from '../proposer.ts';
import { checkSameVocabulary } from './check-vocabulary.ts';

/** A smaller model that guesses. A `Model` of `@hearth/engine` is one. */
export interface DraftModel {
  readonly info: {
    /** Positions that a session may have. */
    readonly contextLength: number;
  };
  readonly tokenizer: Vocabulary;
  createSession(): DraftSession;
}

/** A sequence of the draft model, which keeps what it has computed between calls. */
export interface DraftSession {
  /** Makes it hold exactly these tokens. What they have in common with the present ones, from the start, stays computed. */
  replaceTokens(tokenIds: readonly number[]): unknown;
  /** Appends tokens, at most `maxTokens`, the most probable one each time. */
  generate(options: {
    readonly temperature: 0;
    readonly maxTokens: number;
    readonly signal: AbortSignal | undefined;
  }): { readonly result: Promise<{ readonly tokenIds: readonly number[] }> };
  dispose(): Promise<void>;
}

/**
 * Guesses with a smaller model of the same vocabulary, which chooses its most probable tokens. (Leviathan et al., 2022, with
 * the stricter rule of acceptance that keeps every draw: a guess stands when it is the token that is sampled.)
 *
 * Each sequence has a session of the draft model. Guesses that were accepted stay in its cache, so a step costs as many
 * draft steps as there are guesses, and the tokens since the last one are computed along with the first of them. The first
 * call computes the prompt. A text that leaves no room in the draft's context gets no guesses.
 *
 * The draft model is the caller's: it must outlive the sequences, and is not disposed with them. When it fails, `propose`
 * rejects with its error; a `Speculator` counts that and goes on without. A model cannot be its own draft.
 */
export function draftModel(draft: DraftModel): Proposer {
  // A comparison of all ids takes tens of milliseconds, and is asked for with every generation.
  const checkedTargets = new WeakSet<TargetModel>();
  return {
    name: 'draft-model',
    checkTarget: (target) => {
      if (checkedTargets.has(target)) return;
      if (draft.tokenizer === target.tokenizer) {
        // Its guess would wait for a step, and the step for the guess.
        throw new InvalidArgumentError('A model cannot be its own draft model. Load the draft as a model of its own.');
      }
      checkSameVocabulary(draft.tokenizer, target.tokenizer);
      checkedTargets.add(target);
    },
    start: () => new SequenceDraft(draft),
  };
}

class SequenceDraft implements SequenceProposer {
  readonly #draft: DraftModel;
  #session: DraftSession | undefined;
  #isDisposed = false;

  constructor(draft: DraftModel) {
    this.#draft = draft;
  }

  async propose(tokenIds: readonly number[], maxTokens: number, signal?: AbortSignal): Promise<readonly number[]> {
    if (this.#isDisposed) throw new DisposedError('draft');
    const room = this.#draft.info.contextLength - tokenIds.length;
    const numGuesses = Math.min(maxTokens, room);
    if (numGuesses < 1 || tokenIds.length === 0) return [];
    this.#session ??= this.#draft.createSession();
    this.#session.replaceTokens(tokenIds);
    return (await this.#session.generate({ temperature: 0, maxTokens: numGuesses, signal }).result).tokenIds;
  }

  async dispose(): Promise<void> {
    this.#isDisposed = true;
    await this.#session?.dispose();
  }
}
