import { AbortError, DisposedError } from '@hearth/core';
import type { DraftModel, DraftSession } from '../draft-model/draft-model.ts';
import { digits } from './vocabularies.ts';

/** A model that is a function from tokens to the next one, and counts how many tokens it has to compute. */
export class ScriptDraft implements DraftModel {
  readonly info: { readonly contextLength: number };
  /** Its own, as every model has: equal to that of the target, but not the same object. */
  readonly tokenizer = { ...digits };
  readonly sessions: ScriptSession[] = [];
  /** Resolves before every answer; replaced by tests that look at a draft at work. */
  wait: () => Promise<void> = async () => {};
  /** What the next answers fail with. */
  error: Error | undefined;
  readonly next: (tokenIds: readonly number[]) => number;

  constructor(next: (tokenIds: readonly number[]) => number, contextLength = 100) {
    this.next = next;
    this.info = { contextLength };
  }

  createSession(): ScriptSession {
    const session = new ScriptSession(this);
    this.sessions.push(session);
    return session;
  }
}

export class ScriptSession implements DraftSession {
  readonly #model: ScriptDraft;
  #tokenIds: number[] = [];
  #numComputed = 0;
  /** Tokens computed by each call of `generate`. */
  readonly computed: number[] = [];
  isDisposed = false;

  constructor(model: ScriptDraft) {
    this.#model = model;
  }

  replaceTokens(tokenIds: readonly number[]): void {
    if (this.isDisposed) throw new DisposedError('session');
    let common = 0;
    while (common < this.#tokenIds.length && this.#tokenIds[common] === tokenIds[common]) common++;
    this.#numComputed = Math.min(this.#numComputed, common);
    this.#tokenIds = tokenIds.slice();
  }

  generate({ maxTokens, signal }: { maxTokens: number; signal: AbortSignal | undefined }) {
    return { result: this.#generate(maxTokens, signal) };
  }

  async #generate(maxTokens: number, signal: AbortSignal | undefined): Promise<{ tokenIds: number[] }> {
    await this.#model.wait();
    if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
    if (this.isDisposed) throw new DisposedError('session');
    if (this.#model.error) throw this.#model.error;
    const tokenIds: number[] = [];
    const before = this.#numComputed;
    while (tokenIds.length < maxTokens) {
      this.#numComputed = this.#tokenIds.length;
      tokenIds.push(this.#model.next(this.#tokenIds));
      this.#tokenIds.push(tokenIds.at(-1)!);
    }
    this.computed.push(this.#numComputed - before);
    return { tokenIds };
  }

  async dispose(): Promise<void> {
    this.isDisposed = true;
  }
}
