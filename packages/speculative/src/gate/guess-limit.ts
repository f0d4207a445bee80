/**
 * How many guesses a proposer may make in one step: one at first, twice as many after an attempt that stood whole, half as
 * many after one that did not; from 1 to `most`.
 *
 * A second row in a decode step is nearly free, an eighth is not. So guesses that are not yet known to be good cost little,
 * and a text that is copied is guessed in full width after three attempts.
 */
export class GuessLimit {
  readonly #most: number;
  #value = 1;

  constructor(most: number) {
    this.#most = most;
  }

  get value(): number {
    return this.#value;
  }

  /** Tells how the guesses of one step fared. */
  recordAttempt(numProposed: number, numAccepted: number): void {
    this.#value =
      numAccepted === numProposed ? Math.min(2 * this.#value, this.#most) : Math.max(Math.floor(this.#value / 2), 1);
  }
}
