import { AbortError, DisposedError, type HearthError, InvalidArgumentError } from '@hearth/core';
import { Speculator } from '@hearth/speculative';
import { AnchorError, SessionBusyError } from '../errors.ts';
import { EventStream } from '../generate/event-stream.ts';
import { type GenerateOptions, planGeneration } from '../generate/generate-options.ts';
import type { GenerateEvent, GenerateResult, Generation } from '../generate/generation.ts';
import { GenerationTask } from '../generate/generation-task.ts';
import { GenerationProfiler } from '../profile/op-profiler.ts';
import { checkTokens } from './check-tokens.ts';
import { commonPrefixLength } from './common-prefix.ts';
import { ComputeTask } from './compute-task.ts';
import { checkTopLogprobs, forwardTokens, type RowScores, type ScoreOptions, scoreTokens } from './evaluate-rows.ts';
import { Sequence } from './sequence.ts';
import { saveSequence } from './session-file-writer.ts';
import { newSequence, type SessionRuntime } from './session-runtime.ts';
import { checkRequestOptions, type RequestOptions, Work, type WorkOptions } from './work.ts';

export interface CreateSessionOptions {
  /** Tokens to start with. */
  readonly tokenIds?: ArrayLike<number>;
  /** How many of them are never cut back (system prompt and tools, as a rule). Default: none. */
  readonly anchor?: number;
  /**
   * What was computed for other sessions is reused only among those of the same salt: give each tenant one, and none can
   * tell from the time that an answer takes what another has asked. Default: one that all share.
   */
  readonly cacheSalt?: string;
}

/** What `Session.prefill` has done. */
export interface PrefillResult {
  readonly computedTokens: number;
  /** Tokens that were in the cache already, of this session's own doing or another's. */
  readonly cachedTokens: number;
}

/** Orders the ends of work, whatever model it belongs to. */
let workClock = 0;

/**
 * A sequence of tokens that grows, keeps its keys and values in the model's cache between calls, and can be cut back.
 *
 * It does one thing at a time: what changes it is refused with a `SessionBusyError` while it works. Any number of sessions
 * of a model work at the same time and share its steps. Tokens whose computation was aborted or failed stay in the session
 * and are computed by the next call that needs them; to be rid of them, `truncate`.
 */
export class Session {
  readonly #runtime: SessionRuntime;
  readonly #sequence: Sequence;
  readonly #endByModel = (reason: HearthError) => this.#end(reason);
  #work: { readonly work: Work; readonly ended: Promise<unknown> } | undefined;
  #ending: Promise<void> | undefined;

  /** Made by `Model.createSession` and `fork`. */
  constructor(runtime: SessionRuntime, from: CreateSessionOptions | Sequence = {}) {
    this.#runtime = runtime;
    this.#sequence = from instanceof Sequence ? from : newSequence(runtime, from);
    runtime.sequences.add(this.#sequence);
    runtime.sessions.add(this.#endByModel);
  }

  /** All tokens, prompt and generated, in order: a copy. */
  get tokenIds(): readonly number[] {
    return this.#sequence.tokenIds.slice();
  }

  /** Number of tokens. */
  get length(): number {
    return this.#sequence.length;
  }

  /** How many leading tokens are in the cache. It falls to 0 when another session needs the blocks more. */
  get numCachedTokens(): number {
    return this.#sequence.numCachedTokens;
  }

  /** Tokens that are never cut back. */
  get anchor(): number {
    return this.#sequence.anchor;
  }

  /** Whether it is generating or computing now. */
  get isBusy(): boolean {
    return this.#work !== undefined;
  }

  get isDisposed(): boolean {
    return this.#ending !== undefined;
  }

  /** Whether it is one of the model with this runtime. See `Model.owns`. */
  belongsTo(runtime: SessionRuntime): boolean {
    return this.#runtime === runtime;
  }

  /**
   * Appends tokens. They are computed by the next call that needs them, or at once by `prefill`.
   * @throws ContextLengthError when they do not fit; nothing is appended then
   * @throws InvalidArgumentError for ids outside the vocabulary
   */
  extend(tokenIds: ArrayLike<number>): void {
    this.#checkIdle('be extended');
    checkTokens(tokenIds, this.length, this.#runtime);
    this.#sequence.append(tokenIds);
  }

  /**
   * Cuts back to the first `length` tokens.
   * @throws AnchorError below the anchor
   * @throws InvalidArgumentError when it is not a length from 0 to the present one
   */
  truncate(length: number): void {
    this.#checkIdle('be cut back');
    if (!Number.isInteger(length) || length < 0 || length > this.length) {
      throw new InvalidArgumentError(`A session of ${this.length} tokens cannot be cut back to ${length}.`);
    }
    if (length < this.anchor) throw new AnchorError(length, this.anchor);
    this.#sequence.truncate(length);
  }

  /**
   * Makes the session hold exactly these tokens: what it has in common with them from the start stays, also in the cache;
   * the rest is cut off and replaced. Returns how many tokens stayed.
   * @throws AnchorError when they differ below the anchor
   * @throws as `extend`; nothing has changed then
   */
  replaceTokens(tokenIds: ArrayLike<number>): number {
    this.#checkIdle('be given other tokens');
    checkTokens(tokenIds, 0, this.#runtime);
    const numCommon = commonPrefixLength(this.#sequence.tokenIds, tokenIds);
    if (numCommon < this.anchor) throw new AnchorError(numCommon, this.anchor);
    this.#sequence.truncate(numCommon);
    this.#sequence.append(Array.prototype.slice.call(tokenIds, numCommon));
    return numCommon;
  }

  /**
   * Computes all tokens that are not in the cache yet, so that a later `generate` answers sooner.
   * @throws InvalidArgumentError for options that make no sense
   * @throws QueueFullError | CacheExhaustedError as `generate`
   * @throws AbortError | DeadlineError | DisposedError | NumericError; chunks that were done stay done
   */
  async prefill(options: RequestOptions = {}): Promise<PrefillResult> {
    this.#checkIdle('prefill');
    checkRequestOptions(options);
    const task = new ComputeTask(this.#sequence, options.priority);
    await this.#begin(options, (signal) => this.#runtime.loop.run(task, signal)).result;
    const { upTo, numComputedTokens } = task;
    return { computedTokens: numComputedTokens, cachedTokens: Math.max(0, upTo - numComputedTokens) };
  }

  /**
   * Appends tokens, computes them and returns the logits after each of them, [tokenIds.length, vocabSize]. For scoring,
   * evaluation and tests: it takes 4 · vocabSize bytes a token. When it rejects, the session is as long as before.
   * @throws as `extend` and `prefill`
   */
  async forward(tokenIds: ArrayLike<number>, options: { readonly signal?: AbortSignal } = {}): Promise<Float32Array> {
    this.#checkIdle('run forward');
    checkTokens(tokenIds, this.length, this.#runtime);
    const compute = (signal: AbortSignal) => forwardTokens(this.#runtime, this.#sequence, tokenIds, signal);
    return this.#begin(options, compute).result;
  }

  /**
   * Appends tokens and scores each of them given all before it: its log-probability and the most likely token in its place,
   * both [tokenIds.length]. With `topLogprobs`, also so many of the most likely ones; without, nothing of the vocabulary's size
   * leaves the backend. When it rejects, the session is as long as before.
   *
   * @throws InvalidArgumentError when the session is empty: the first token of a text follows nothing; and when `topLogprobs`
   *   is no whole number from 0 to 20
   * @throws as `extend` and `prefill`
   */
  async score(tokenIds: ArrayLike<number>, options: ScoreOptions = {}): Promise<RowScores> {
    this.#checkIdle('score');
    if (this.length === 0) {
      throw new InvalidArgumentError('An empty session cannot score: give it the first token (BOS, as a rule) before.');
    }
    const { topLogprobs } = options;
    checkTopLogprobs(topLogprobs);
    checkTokens(tokenIds, this.length, this.#runtime);
    const targets = Int32Array.from(tokenIds);
    const compute = (signal: AbortSignal) =>
      scoreTokens(this.#runtime, this.#sequence, targets, { topLogprobs, signal });
    return this.#begin(options, compute).result;
  }

  /**
   * Continues the tokens of the session. The generated tokens become part of it, those of a stop string and the end token
   * too. Any number of sessions may generate at once: they share the steps, and none changes what another gets.
   *
   * @throws InvalidArgumentError | ContextLengthError | SessionBusyError | DisposedError at once, before any work
   * @throws QueueFullError at once, when as many requests wait already as are allowed to
   * @throws CacheExhaustedError at once, when the whole cache is too small for the prompt and `maxTokens`
   */
  generate(options: GenerateOptions = {}): Generation {
    this.#checkIdle('generate');
    const runtime = this.#runtime;
    const sequence = this.#sequence;
    const cacheTokens = runtime.pool.numBlocks * runtime.blockSize;
    const plan = planGeneration(options, { ...runtime, cacheTokens, length: sequence.length });
    const stream = new EventStream<GenerateEvent>(() => cancel());
    const task = new GenerationTask({
      sequence,
      plan,
      vocabSize: runtime.vocabSize,
      samplesInStep: runtime.samplesInStep,
      detokenizer: runtime.createDetokenizer(plan.showSpecialTokens),
      profiler: plan.profile ? new GenerationProfiler(runtime.program, runtime.storageTypes) : undefined,
      speculator: plan.speculation && new Speculator(plan.speculation, runtime.speculationTarget),
      emit: (event) => stream.push(event),
    });

    const cancelled = new AbortError('The generation was cancelled.');
    const finish = async (done: Promise<void>): Promise<GenerateResult> => {
      try {
        await done;
        return task.result();
      } catch (error) {
        if (work.reasonFor(error) === cancelled) return task.result({ finishReason: 'cancelled' });
        throw error;
      } finally {
        runtime.statistics.addGeneration(task);
        await task.dispose();
      }
    };
    const { work, result } = this.#begin({ ...options, ...plan }, (signal) => finish(runtime.loop.run(task, signal)));
    const cancel = async () => {
      work.stop(cancelled);
      await result.catch(() => {});
    };
    // Settled after `result`, so that a loop that has ended finds the session idle.
    result.then(
      () => stream.end(),
      (error) => stream.fail(error),
    );
    return { result, cancel, [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() };
  }

  /**
   * A session of the same tokens that shares what is computed of them: neither sees what the other does from then on.
   * The anchor is the same, too.
   * @throws SessionBusyError | DisposedError
   */
  fork(): Session {
    this.#checkIdle('be forked');
    return new Session(this.#runtime, this.#sequence.fork());
  }

  /**
   * Writes the session to a file: its tokens, and what of them is in the cache. `Model.loadSession` reads it, with the same
   * model only. The file appears when it is whole; an older one of that name stays until then.
   *
   * @throws SessionBusyError | DisposedError
   * @throws SessionFileError when the file cannot be written
   * @throws AbortError; nothing is left of the file then
   */
  async save(path: string, options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#checkIdle('be saved');
    const { executable, pool, fingerprint } = this.#runtime;
    const save = (signal: AbortSignal) =>
      saveSequence(path, this.#sequence, { cache: executable.cache, pool, fingerprint, signal });
    await this.#begin(options, save).result;
  }

  /** Stops what is running, which rejects with a `DisposedError`, and gives the cache blocks back. Safe to call twice. */
  dispose(): Promise<void> {
    return this.#end(new DisposedError('session'));
  }

  #checkIdle(what: string): void {
    if (this.#ending) throw new DisposedError('session');
    if (this.#work) throw new SessionBusyError(what);
  }

  /** Runs one piece of work; the session is busy from now until it has ended. What `start` throws at once is thrown. */
  #begin<Result>(options: WorkOptions, start: (signal: AbortSignal) => Promise<Result>) {
    const work = new Work(options);
    let running: Promise<Result>;
    try {
      running = start(work.signal);
    } catch (error) {
      work.end();
      throw error;
    }
    const guarded = async (): Promise<Result> => {
      try {
        return await running;
      } catch (error) {
        throw work.reasonFor(error);
      } finally {
        work.end();
        this.#sequence.lastUse = ++workClock;
        this.#work = undefined;
      }
    };
    const result = guarded();
    this.#work = { work, ended: result.catch(() => {}) };
    return { work, result };
  }

  #end(reason: HearthError): Promise<void> {
    this.#ending ??= (async () => {
      this.#work?.work.stop(reason);
      await this.#work?.ended;
      this.#sequence.releaseBlocks();
      this.#runtime.sequences.delete(this.#sequence);
      this.#runtime.sessions.delete(this.#endByModel);
    })();
    return this.#ending;
  }
}
