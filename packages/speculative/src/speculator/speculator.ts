import { DisposedError, InvalidArgumentError } from '@hearth/core';
import type { TargetModel } from '../proposer.ts';
import { GatedProposer } from './gated-proposer.ts';
import { resolveSpeculation, type SpeculationOptions } from './speculation-options.ts';
import { groupByName, type SpeculationStats } from './speculation-stats.ts';

/** Token ids are int32 everywhere in Hearth. */
const MAX_VOCAB_SIZE = 2 ** 31 - 1;

/**
 * Speculation of one sequence. Each step, ask `propose` for guesses, run them behind the last token, and tell `record` how
 * many stood (`countAccepted`). A step that was given up (preempted, aborted) is not recorded and counts for nothing.
 */
export class Speculator {
  readonly #proposers: readonly GatedProposer[];
  /** The guesses that `record` is about. */
  #pending: { readonly proposer: GatedProposer; readonly numProposed: number } | undefined;
  #disposing: Promise<void> | undefined;

  /**
   * @param target the model that is guessed for: ids that it does not have are cut off. Without it, any id may be guessed
   * @throws as `resolveSpeculation`
   */
  constructor(options: SpeculationOptions, target?: TargetModel) {
    const resolved = resolveSpeculation(options, target);
    const vocabSize = target?.info.vocabSize ?? MAX_VOCAB_SIZE;
    this.#proposers = resolved.proposers.map((proposer) => new GatedProposer(proposer, resolved, vocabSize));
  }

  /** A copy of what there is up to now. */
  get stats(): SpeculationStats {
    return groupByName(this.#proposers.map((proposer) => [proposer.name, proposer.stats]));
  }

  /**
   * Guesses of what follows: those of the first proposer, in order, that has any; empty when none has. A promise only where
   * a proposer gives one, so that a step need not wait for anything otherwise. Proposers that fail have no guesses.
   *
   * @param tokenIds prompt and completion so far; between calls it only grows
   * @param maxTokens most guesses that can be verified in this step, besides what the options allow; 0 asks nobody
   * @throws AbortError, or rejects with it, when the signal has fired while a proposer worked
   * @throws DisposedError
   */
  propose(
    tokenIds: readonly number[],
    maxTokens: number,
    signal?: AbortSignal,
  ): readonly number[] | Promise<readonly number[]> {
    if (this.#disposing) throw new DisposedError('speculator');
    this.#pending = undefined;
    return maxTokens < 1 ? [] : this.#askFrom(0, tokenIds, maxTokens, signal);
  }

  /**
   * How many of the last guesses stood. With none, there is nothing to record but 0.
   *
   * @param numVerified how many of them were run, the first ones. Default: all. Those that were not count for nothing
   * @throws InvalidArgumentError when there were not so many guesses, or they were recorded before
   */
  record(numAccepted: number, numVerified?: number): void {
    const numProposed = this.#pending?.numProposed ?? 0;
    const most = numVerified ?? numProposed;
    if (!isCount(most, numProposed) || !isCount(numAccepted, most)) {
      throw new InvalidArgumentError(
        `${numProposed} guesses wait to be recorded, so ${numAccepted} of ${most} cannot have been accepted.`,
        { details: { numAccepted, numVerified: most, numProposed } },
      );
    }
    if (most > 0) this.#pending?.proposer.record(most, numAccepted);
    this.#pending = undefined;
  }

  /** Frees what the proposers hold for this sequence. Stats stay. Safe at any moment and as often as you like. */
  dispose(): Promise<void> {
    this.#disposing ??= Promise.all(this.#proposers.map((proposer) => proposer.dispose())).then(() => {});
    return this.#disposing;
  }

  #askFrom(
    first: number,
    tokenIds: readonly number[],
    maxTokens: number,
    signal: AbortSignal | undefined,
  ): readonly number[] | Promise<readonly number[]> {
    for (const [index, proposer] of this.#proposers.entries()) {
      if (index < first) continue;
      const guesses = proposer.propose(tokenIds, maxTokens, signal);
      if (guesses instanceof Promise) {
        return guesses.then((come) => {
          if (come.length > 0) return this.#take(proposer, come);
          return this.#askFrom(index + 1, tokenIds, maxTokens, signal);
        });
      }
      if (guesses.length > 0) return this.#take(proposer, guesses);
    }
    return [];
  }

  #take(proposer: GatedProposer, guesses: readonly number[]): readonly number[] {
    this.#pending = { proposer, numProposed: guesses.length };
    return guesses;
  }
}

function isCount(value: number, most: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= most;
}
