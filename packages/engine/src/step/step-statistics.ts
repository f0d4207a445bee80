import type { StepEntry } from '../schedule/task.ts';

/** What the steps of a model have done and taken since it was loaded. */
export interface StepTotals {
  readonly numSteps: number;
  /** Tokens that were the next of a sequence that generates. */
  readonly decodeTokens: number;
  readonly prefillTokens: number;
  /** Guesses that were verified. */
  readonly speculativeTokens: number;
  /** Milliseconds in the backend, from handing a step over to its results. */
  readonly runMs: number;
  /** Milliseconds of choosing and laying out steps. With the overlapped loop mostly while another runs. */
  readonly planMs: number;
  /** Milliseconds of taking results: sampling that is not done in the step, text, stop strings, events. */
  readonly deliverMs: number;
}

/** Adds up. */
export class StepStatistics {
  #totals = {
    numSteps: 0,
    decodeTokens: 0,
    prefillTokens: 0,
    speculativeTokens: 0,
    runMs: 0,
    planMs: 0,
    deliverMs: 0,
  };

  get totals(): StepTotals {
    return { ...this.#totals };
  }

  addStep(entries: readonly StepEntry[], milliseconds: number): void {
    const totals = this.#totals;
    totals.numSteps++;
    totals.runMs += milliseconds;
    for (const { numTokens, proposals } of entries) {
      if (numTokens === 1) totals.decodeTokens++;
      else totals.prefillTokens += numTokens;
      totals.speculativeTokens += proposals.length;
    }
  }

  addPlanning(milliseconds: number): void {
    this.#totals.planMs += milliseconds;
  }

  addDelivery(milliseconds: number): void {
    this.#totals.deliverMs += milliseconds;
  }
}
