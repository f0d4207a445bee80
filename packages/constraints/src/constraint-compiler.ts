import { AbortError, DisposedError, InvalidArgumentError, throwIfAborted } from '@hearth/core';
import { type ConstraintLimits, type defaultLimits, resolveLimits } from './constraint-limits.ts';
import { ConstraintMatcher } from './constraint-matcher.ts';
import { type ConstraintSource, sourceText } from './constraint-source.ts';
import { GrammarThread } from './grammar-thread.ts';
import { LruMap } from './lru-map.ts';
import { type Vocabulary, type VocabularyOptions, vocabularyTables } from './vocabulary.ts';

export interface ConstraintCompilerOptions extends VocabularyOptions {
  readonly limits?: ConstraintLimits | undefined;
  /**
   * Threads that compile and make masks; default 2, so that texts in one go on while the other compiles. Each holds the
   * vocabulary and starts when it is needed.
   */
  readonly numThreads?: number | undefined;
}

/** A compiled constraint. It needs no disposing, and works as long as its compiler does. */
export interface Constraint {
  /** Follows a new text under the constraint. Any number can be followed at once. */
  start(): ConstraintMatcher;
}

/** Compiles constraints for one vocabulary. Made by `createConstraintCompiler`; dispose it to end its threads. */
export class ConstraintCompiler {
  readonly #limits: typeof defaultLimits;
  readonly #threads: readonly GrammarThread[];
  readonly #endTokenIds: readonly number[];
  /** Compilations that go on are among them, so that equal constraints are compiled once. */
  readonly #constraints: LruMap<string, Promise<Constraint>>;
  #numMatchers = 0;
  #isDisposed = false;

  /** Use `createConstraintCompiler`. */
  constructor(vocabulary: Vocabulary, options: ConstraintCompilerOptions) {
    const { numThreads = 2, limits = {}, ...vocabularyOptions } = options;
    if (!Number.isInteger(numThreads) || numThreads < 1) {
      throw new InvalidArgumentError(`numThreads must be a whole number from 1, but it is ${numThreads}.`);
    }
    const tables = vocabularyTables(vocabulary, vocabularyOptions);
    this.#limits = resolveLimits(limits);
    this.#endTokenIds = tables.endTokenIds;
    this.#threads = Array.from({ length: numThreads }, () => new GrammarThread(tables, this.#limits));
    this.#constraints = new LruMap(this.#limits.numCached);
  }

  /** Starts a thread ahead of the first compilation. */
  async warmUp(signal?: AbortSignal): Promise<void> {
    this.#checkOpen();
    await this.#threads[0]!.start(signal);
  }

  /**
   * Compiles a constraint, or takes it from the cache.
   *
   * @throws ConstraintError for a schema or grammar that is wrong, not supported, takes too much, or that no text obeys;
   * InvalidArgumentError for a source of a wrong shape; AbortError; DisposedError
   */
  async compile(source: ConstraintSource, options: { signal?: AbortSignal | undefined } = {}): Promise<Constraint> {
    this.#checkOpen();
    throwIfAborted(options.signal);
    const key = sourceText(source, this.#limits.sourceLength);
    let constraint = this.#constraints.get(key);
    if (constraint === undefined) {
      constraint = this.#compile(key);
      this.#constraints.set(key, constraint);
      const compiling = constraint;
      compiling.catch(() => {
        if (this.#constraints.get(key) === compiling) this.#constraints.delete(key);
      });
    }
    // Others may wait for the same one, so that an abort ends this wait only.
    return untilAborted(constraint, options.signal);
  }

  /** Ends the threads; open calls reject with `DisposedError`. Safe at any moment and as often as you like. */
  async dispose(): Promise<void> {
    this.#isDisposed = true;
    await Promise.all(this.#threads.map((thread) => thread.dispose()));
  }

  async #compile(source: string): Promise<Constraint> {
    const thread = this.#threads.reduce((least, other) => (other.numUsers < least.numUsers ? other : least));
    thread.numUsers++;
    try {
      await thread.compile(source);
    } finally {
      thread.numUsers--;
    }
    return {
      start: () => {
        this.#checkOpen();
        return new ConstraintMatcher(thread, source, this.#endTokenIds, this.#numMatchers++);
      },
    };
  }

  #checkOpen(): void {
    if (this.#isDisposed) throw new DisposedError('constraint compiler');
  }
}

/**
 * A compiler of constraints for one vocabulary.
 *
 * @throws InvalidArgumentError for a vocabulary without end tokens, or options that make no sense
 */
export function createConstraintCompiler(
  vocabulary: Vocabulary,
  options: ConstraintCompilerOptions = {},
): ConstraintCompiler {
  return new ConstraintCompiler(vocabulary, options);
}

function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(new AbortError(undefined, { cause: signal.reason }));
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
