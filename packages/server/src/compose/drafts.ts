import { DisposedError } from '@hearth/core';
import type { Model, PrefillResult, Session } from '@hearth/engine';
import { untilAborted } from '../until-aborted.ts';
import { Draft, type DraftPrompt, isSuperseded } from './draft.ts';
import { Seats } from './seats.ts';

export interface DraftsOptions {
  /** Most conversations; the one that was left alone longest gives way. Default: 64. */
  readonly most?: number | undefined;
  /** How long a draft is kept after it was last used, in milliseconds. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
}

/** Whose draft it is. Tenants of different salts have nothing in common. */
export interface DraftName {
  readonly conversation: string;
  readonly cacheSalt: string;
}

export interface ComposeRequest extends DraftName {
  /** Of drafts of one conversation, later ones have higher numbers. Undefined: who comes later is later. */
  readonly revision: number | undefined;
  readonly signal: AbortSignal;
  /** Makes the prompt of the draft. */
  render(signal: AbortSignal): Promise<DraftPrompt>;
}

/** Drafts that are computed at a time: one would wait for a long one, and many would take the places of answers. */
const mostAtOnce = 2;

/**
 * Drafts of messages to one model, each in a session of its own that has been computed as far as the message is written. They
 * only save work: who answers a conversation takes what is there of its tokens, and computes the rest.
 */
export class Drafts {
  readonly #model: Model;
  readonly #most: number;
  readonly #timeoutMs: number;
  readonly #seats = new Seats(mostAtOnce);
  /** The longest unused first. */
  readonly #drafts = new Map<string, Draft>();
  #timer: NodeJS.Timeout | undefined;
  #isDisposed = false;

  constructor(model: Model, { most = 64, timeoutMs = 60_000 }: DraftsOptions = {}) {
    this.#model = model;
    this.#most = most;
    this.#timeoutMs = timeoutMs;
  }

  get size(): number {
    return this.#drafts.size;
  }

  /**
   * Computes a draft ahead. Undefined, and at once, when something newer of the conversation has come or comes.
   * @throws what `render` throws, and as `Session.prefill`
   */
  async compose(request: ComposeRequest): Promise<PrefillResult | undefined> {
    const { revision, signal, render } = request;
    const key = keyOf(request);
    if (revision !== undefined && revision < (this.#drafts.get(key)?.revision ?? revision)) return undefined;
    const draft = this.#use(key, request.cacheSalt);
    if (revision !== undefined) draft.revision = revision;
    const turn = draft.begin(signal);
    try {
      const computing = render(turn).then((prompt) => draft.compute(prompt, turn));
      return await untilAborted(computing, turn);
    } catch (error) {
      if (isSuperseded(turn)) return undefined;
      throw error;
    } finally {
      draft.end(turn);
      draft.lastUse = performance.now();
    }
  }

  /**
   * A session of these tokens with all that was computed of them for the draft of the conversation; the caller disposes of it.
   * Undefined when there is nothing of use. What runs for the draft is stopped.
   */
  async fork(name: DraftName, tokenIds: ArrayLike<number>): Promise<Session | undefined> {
    const key = keyOf(name);
    if (!this.#drafts.has(key)) return undefined;
    return this.#use(key, name.cacheSalt).fork(tokenIds);
  }

  /** Ends all of them. */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    clearTimeout(this.#timer);
    await Promise.all([...this.#drafts.keys()].map((key) => this.#end(key)));
  }

  #use(key: string, cacheSalt: string): Draft {
    if (this.#isDisposed) throw new DisposedError('model');
    const draft = this.#drafts.get(key) ?? new Draft({ model: this.#model, cacheSalt, seats: this.#seats });
    draft.lastUse = performance.now();
    this.#drafts.delete(key);
    this.#drafts.set(key, draft);
    const [longestUnused] = this.#drafts.keys();
    if (this.#drafts.size > this.#most) void this.#end(longestUnused!);
    this.#timer ??= this.#expireIn(this.#timeoutMs);
    return draft;
  }

  async #end(key: string): Promise<void> {
    const draft = this.#drafts.get(key);
    this.#drafts.delete(key);
    await draft?.dispose();
  }

  #expireIn(milliseconds: number): NodeJS.Timeout {
    return setTimeout(() => this.#expire(), milliseconds).unref();
  }

  #expire(): void {
    const now = performance.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const [key, draft] of this.#drafts) {
      const leftMs = draft.isBusy ? this.#timeoutMs : draft.lastUse + this.#timeoutMs - now;
      if (leftMs <= 0) void this.#end(key);
      else nextMs = Math.min(nextMs, leftMs);
    }
    this.#timer = Number.isFinite(nextMs) ? this.#expireIn(nextMs) : undefined;
  }
}

function keyOf({ conversation, cacheSalt }: DraftName): string {
  return JSON.stringify([cacheSalt, conversation]);
}
