import { throwIfAborted } from '@hearth/core';
import { AcceptanceGate } from '../gate/acceptance-gate.ts';
import { GuessLimit } from '../gate/guess-limit.ts';
import type { Proposer, SequenceProposer } from '../proposer.ts';
import type { ResolvedSpeculationOptions } from './speculation-options.ts';
import type { ProposerStats } from './speculation-stats.ts';

/** One proposer of one sequence: behind its gate, held to its limit, counted, and unable to fail what it is to speed up. */
export class GatedProposer {
  readonly #proposer: Proposer;
  readonly #gate: AcceptanceGate;
  readonly #limit: GuessLimit;
  readonly #vocabSize: number;
  #sequence: SequenceProposer | undefined;
  #attempts = 0;
  #proposedTokens = 0;
  #acceptedTokens = 0;
  #pausedSteps = 0;
  #failures = 0;
  #lastFailure: string | undefined;
  #isDisposed = false;

  constructor(proposer: Proposer, options: ResolvedSpeculationOptions, vocabSize: number) {
    this.#proposer = proposer;
    this.#gate = new AcceptanceGate(options.gate);
    this.#limit = new GuessLimit(options.maxTokens);
    this.#vocabSize = vocabSize;
  }

  get name(): string {
    return this.#proposer.name;
  }

  get stats(): ProposerStats {
    return {
      attempts: this.#attempts,
      proposedTokens: this.#proposedTokens,
      acceptedTokens: this.#acceptedTokens,
      pauses: this.#gate.numPauses,
      pausedSteps: this.#pausedSteps,
      failures: this.#failures,
      ...(this.#lastFailure !== undefined && { lastFailure: this.#lastFailure }),
    };
  }

  /**
   * Guesses that can be verified; none while it pauses, and none when it fails.
   * @throws AbortError, or rejects with it, when the signal has fired
   */
  propose(
    tokenIds: readonly number[],
    maxTokens: number,
    signal: AbortSignal | undefined,
  ): readonly number[] | Promise<readonly number[]> {
    // One that was asked before this one may have been answering when all of them were disposed.
    if (this.#isDisposed) return [];
    if (!this.#gate.admit()) {
      this.#pausedSteps++;
      return [];
    }
    try {
      // Started when it is first asked: what it costs, and how it fails, then belongs to guessing.
      this.#sequence ??= this.#proposer.start();
      const most = Math.min(maxTokens, this.#limit.value);
      const guesses = this.#sequence.propose(tokenIds, most, signal);
      return isPromise(guesses) ? this.#settle(guesses, most, signal) : this.#usable(guesses, most);
    } catch (error) {
      return this.#fail(error, signal);
    }
  }

  /** How its last guesses fared. */
  record(numProposed: number, numAccepted: number): void {
    this.#attempts++;
    this.#proposedTokens += numProposed;
    this.#acceptedTokens += numAccepted;
    this.#gate.recordAttempt(numProposed, numAccepted);
    this.#limit.recordAttempt(numProposed, numAccepted);
  }

  /** Never rejects: freeing is no business of the request either. */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    try {
      await this.#sequence?.dispose();
    } catch (error) {
      this.#countFailure(error);
    }
  }

  async #settle(guesses: Promise<readonly number[]>, maxTokens: number, signal: AbortSignal | undefined) {
    try {
      return this.#usable(await guesses, maxTokens);
    } catch (error) {
      return this.#fail(error, signal);
    }
  }

  /** What can be verified of an answer: no more than was asked for, and only up to an id that the model does not have. */
  #usable(guesses: readonly number[], maxTokens: number): readonly number[] {
    const isToken = (id: number) => Number.isInteger(id) && id >= 0 && id < this.#vocabSize;
    let count = 0;
    while (count < guesses.length && count < maxTokens && isToken(guesses[count]!)) count++;
    return count === guesses.length ? guesses : guesses.slice(0, count);
  }

  #fail(error: unknown, signal: AbortSignal | undefined): readonly number[] {
    throwIfAborted(signal);
    // What it was doing was ended by `dispose`.
    if (this.#isDisposed) return [];
    this.#countFailure(error);
    this.#gate.recordFailure();
    return [];
  }

  #countFailure(error: unknown): void {
    this.#failures++;
    this.#lastFailure = error instanceof Error ? error.message : String(error);
  }
}

function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as Partial<Promise<T>> | undefined)?.then === 'function';
}
