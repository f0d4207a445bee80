import { AbortError, HearthError } from '@hearth/core';
import type { Model, PrefillResult, Session } from '@hearth/engine';
import type { Seats } from './seats.ts';

/** What a draft makes of a conversation. */
export interface DraftPrompt {
  /** To be computed ahead. */
  readonly tokenIds: ArrayLike<number>;
  /** How many of them no later draft is expected to change. */
  findAnchor(signal: AbortSignal): Promise<number>;
}

export interface DraftOptions {
  readonly model: Model;
  readonly cacheSalt: string;
  /** For work on all drafts of the model. */
  readonly seats: Seats;
}

/** Answers come first. */
const priority = -1;

/** What work on a draft is stopped with when something newer wants its place. */
const superseded = new AbortError('Something newer of the same conversation has come.');

export function isSuperseded(signal: AbortSignal): boolean {
  return signal.reason === superseded;
}

/**
 * The session of one conversation whose next message is being written. What came last counts: it stops what runs, and waits
 * until the session is left alone.
 */
export class Draft {
  /** Highest that was seen. */
  revision = Number.NEGATIVE_INFINITY;
  /** Of the clock `performance.now()`. */
  lastUse = 0;
  readonly #options: DraftOptions;
  #session: Session | undefined;
  #turn: { readonly controller: AbortController; readonly signal: AbortSignal } | undefined;
  /** Resolves when nobody is at the session. */
  #free: Promise<unknown> = Promise.resolve();

  constructor(options: DraftOptions) {
    this.#options = options;
  }

  get isBusy(): boolean {
    return this.#turn !== undefined;
  }

  /** Stops what runs. The signal fires when something newer comes, or with the one that is given. */
  begin(signal: AbortSignal): AbortSignal {
    this.stop();
    const controller = new AbortController();
    this.#turn = { controller, signal: AbortSignal.any([signal, controller.signal]) };
    return this.#turn.signal;
  }

  /** What `begin` has begun is over. */
  end(signal: AbortSignal): void {
    if (this.#turn?.signal === signal) this.#turn = undefined;
  }

  stop(): void {
    this.#turn?.controller.abort(superseded);
    this.#turn = undefined;
  }

  /**
   * Computes what of the prompt is not there yet.
   * @param signal of `begin`
   * @throws as `Session.prefill`, and the reason of the signal
   */
  compute(prompt: DraftPrompt, signal: AbortSignal): Promise<PrefillResult> {
    return this.#alone(async () => {
      signal.throwIfAborted();
      const session = await this.#sessionOf(prompt, signal);
      return this.#options.seats.use(signal, () => session.prefill({ priority, signal }));
    });
  }

  /**
   * A session of these tokens that has all that was computed of them. Undefined when there is nothing of use.
   * @throws ContextLengthError | DisposedError
   */
  fork(tokenIds: ArrayLike<number>): Promise<Session | undefined> {
    this.stop();
    return this.#alone(async () => {
      const fork = this.#session?.fork();
      try {
        fork?.replaceTokens(tokenIds);
        return fork;
      } catch (error) {
        await fork?.dispose();
        if (isBelowAnchor(error)) return undefined;
        throw error;
      }
    });
  }

  /** Stops what runs and gives the blocks back. */
  async dispose(): Promise<void> {
    this.stop();
    await this.#alone(async () => this.#endSession());
  }

  async #sessionOf(prompt: DraftPrompt, signal: AbortSignal): Promise<Session> {
    try {
      this.#session?.replaceTokens(prompt.tokenIds);
    } catch (error) {
      if (!isBelowAnchor(error)) throw error;
      await this.#endSession();
    }
    if (this.#session) return this.#session;
    const anchor = await prompt.findAnchor(signal);
    signal.throwIfAborted();
    const { model, cacheSalt } = this.#options;
    this.#session = model.createSession({ tokenIds: prompt.tokenIds, anchor, cacheSalt });
    return this.#session;
  }

  async #endSession(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.dispose();
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#free.then(work);
    this.#free = result.catch(() => {});
    return result;
  }
}

function isBelowAnchor(error: unknown): boolean {
  return HearthError.isInstance(error) && error.code === 'below_anchor';
}
