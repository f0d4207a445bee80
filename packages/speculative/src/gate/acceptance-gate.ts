import { integerOption, numberOption } from '../check-option.ts';

export interface GateOptions {
  /** Attempts that acceptance is judged over, from 1. Default: 10. */
  readonly window?: number | undefined;
  /** Least share of guessed tokens, from 0 to 1, that must be accepted. 0 never pauses. Default: 0.3. */
  readonly minAcceptance?: number | undefined;
  /** Steps of a first pause, from 1. Default: 5. */
  readonly pauseSteps?: number | undefined;
  /** Steps that no pause exceeds, however many follow each other, at least `pauseSteps`. Default: 80. */
  readonly maxPauseSteps?: number | undefined;
}

export type ResolvedGateOptions = { readonly [Name in keyof GateOptions]-?: number };

/** Everything that the gate will do depends on this and on what it is told next. */
export interface GateState {
  /** Attempts since it opened, at most the window: the first is the oldest. */
  readonly attempts: readonly Attempt[];
  /** Steps of the present pause that are left; 0 while the gate is open. */
  readonly remainingSteps: number;
  /** How long the next pause will be. */
  readonly nextPauseSteps: number;
}

export interface Attempt {
  readonly numProposed: number;
  readonly numAccepted: number;
}

/** @throws InvalidArgumentError that names the option */
export function resolveGateOptions(options: GateOptions = {}): ResolvedGateOptions {
  const most = 1_000_000;
  const pauseSteps = integerOption('gate.pauseSteps', options.pauseSteps, { least: 1, most, fallback: 5 });
  return {
    window: integerOption('gate.window', options.window, { least: 1, most, fallback: 10 }),
    minAcceptance: numberOption('gate.minAcceptance', options.minAcceptance, { least: 0, most: 1, fallback: 0.3 }),
    pauseSteps,
    maxPauseSteps: integerOption('gate.maxPauseSteps', options.maxPauseSteps, {
      least: pauseSteps,
      most,
      fallback: Math.max(80, pauseSteps),
    }),
  };
}

/**
 * Decides whether a proposer is asked, from how its last guesses fared. One for each proposer and sequence.
 *
 * - Acceptance is accepted tokens ÷ proposed tokens over the last `window` attempts since the gate opened; an attempt is a
 *   step whose guesses were verified. It is judged after each attempt, once there are `window` of them.
 * - Below `minAcceptance` the gate pauses: the next `pauseSteps` steps in which the proposer would have been asked go by
 *   without it. Then the gate opens and knows nothing of what was before, because the text has moved on.
 * - A pause that follows another one is twice as long, up to `maxPauseSteps`. It follows one unless acceptance was good
 *   enough in between: the first full window at or above `minAcceptance` brings back `pauseSteps`.
 * - A proposer that fails pauses at once, by the same count.
 */
export class AcceptanceGate {
  readonly #options: ResolvedGateOptions;
  #attempts: Attempt[] = [];
  #remainingSteps = 0;
  #nextPauseSteps: number;
  #numPauses = 0;

  /** @throws InvalidArgumentError that names the option */
  constructor(options: GateOptions = {}) {
    this.#options = resolveGateOptions(options);
    this.#nextPauseSteps = this.#options.pauseSteps;
  }

  get state(): GateState {
    return {
      attempts: this.#attempts.slice(),
      remainingSteps: this.#remainingSteps,
      nextPauseSteps: this.#nextPauseSteps,
    };
  }

  /** Pauses so far. */
  get numPauses(): number {
    return this.#numPauses;
  }

  /** Whether the proposer is to be asked in this step. Called once a step: it is what the steps of a pause are counted by. */
  admit(): boolean {
    if (this.#remainingSteps === 0) return true;
    this.#remainingSteps--;
    return false;
  }

  /** Tells how the guesses of one step fared: `numProposed`, at least 1, of which `numAccepted` stood. */
  recordAttempt(numProposed: number, numAccepted: number): void {
    const { window, minAcceptance, pauseSteps } = this.#options;
    this.#attempts.push({ numProposed, numAccepted });
    if (this.#attempts.length > window) this.#attempts.shift();
    if (this.#attempts.length < window) return;
    const proposed = this.#attempts.reduce((sum, attempt) => sum + attempt.numProposed, 0);
    const accepted = this.#attempts.reduce((sum, attempt) => sum + attempt.numAccepted, 0);
    if (accepted / proposed < minAcceptance) this.#pause();
    else this.#nextPauseSteps = pauseSteps;
  }

  /** Tells that the proposer threw instead of guessing. */
  recordFailure(): void {
    this.#pause();
  }

  #pause(): void {
    this.#remainingSteps = this.#nextPauseSteps;
    this.#nextPauseSteps = Math.min(2 * this.#nextPauseSteps, this.#options.maxPauseSteps);
    this.#attempts = [];
    this.#numPauses++;
  }
}
