import { createRequire } from 'node:module';
import { BoundedWorker, type CallOptions, workerUrl } from '@hearth/bounded-worker';
import { LimitExceededError } from '@hearth/core';
import { ConstraintError } from './constraint-error.ts';
import type { defaultLimits } from './constraint-limits.ts';
import type { GrammarMethods } from './grammar-worker.ts';
import type { GrammarEngineInit, MasksInput, MasksOutput } from './worker/grammar-engine.ts';
import type { VocabularyTables } from './worker/token-texts.ts';

/** Longest start of a thread: the library, and the tables that it makes of a vocabulary. */
const startLimitMs = 60_000;
const heapLimitMiB = 512;

/** A worker thread that compiles constraints and makes masks. Whatever exceeds its limits is a `ConstraintError` here. */
export class GrammarThread {
  /** Compilations and matchers that use the thread. */
  numUsers = 0;
  readonly #worker: BoundedWorker<GrammarMethods, GrammarEngineInit>;
  readonly #limits: typeof defaultLimits;

  constructor(vocabulary: VocabularyTables, limits: typeof defaultLimits) {
    this.#limits = limits;
    this.#worker = new BoundedWorker(workerUrl(import.meta.url, 'grammar-worker'), {
      name: 'constraints',
      init: {
        path: createRequire(import.meta.url).resolve('@mlc-ai/web-xgrammar'),
        memoryMiB: limits.memoryMiB,
        numCached: limits.numCached,
        vocabulary,
      },
      timeLimitMs: limits.maskTimeMs,
      // Only masks are large, and their number is that of the guesses.
      outputLimit: Number.POSITIVE_INFINITY,
      heapLimitMiB,
      startLimitMs,
      reviveError: (code, message, options) =>
        code === 'constraint' ? new ConstraintError(message, options) : undefined,
    });
  }

  async start(signal: AbortSignal | undefined): Promise<void> {
    await this.#worker.call('ready', undefined, { signal, timeLimitMs: startLimitMs });
  }

  async compile(source: string): Promise<void> {
    await this.#withinLimits(this.#worker.call('compile', source, this.#compileTime));
  }

  /** Undefined when the matcher is not there any more; ask again with its source and every token. */
  async masks(input: MasksInput): Promise<MasksOutput | undefined> {
    const options = input.source === undefined ? {} : this.#compileTime;
    return this.#withinLimits(this.#worker.call('masks', input, options));
  }

  close(matcher: number): void {
    // A thread that failed or was ended holds no matcher.
    this.#worker.call('close', matcher).catch(() => {});
  }

  async dispose(): Promise<void> {
    await this.#worker.dispose();
  }

  get #compileTime(): CallOptions {
    return { timeLimitMs: this.#limits.compileTimeMs };
  }

  async #withinLimits<T>(call: Promise<T>): Promise<T> {
    try {
      return await call;
    } catch (error) {
      if (!(error instanceof LimitExceededError) || error.details.limit === 'start') throw error;
      throw new ConstraintError(`The constraint takes too much to follow. ${error.message} Simplify it.`, {
        cause: error,
        details: error.details,
      });
    }
  }
}
