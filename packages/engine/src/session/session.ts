import { AbortError, DisposedError, type HearthError, InvalidArgumentError } from '@hearth/core';
import { SequenceBlocks } from '../cache/sequence-blocks.ts';
import { AnchorError, SessionBusyError } from '../errors.ts';
import { EventStream } from '../generate/event-stream.ts';
import { type GenerateOptions, planGeneration } from '../generate/generate-options.ts';
import type { GenerateEvent, GenerateResult, Generation } from '../generate/generation.ts';
import { GenerationRun } from '../generate/run-generation.ts';
import { GenerationProfiler } from '../profile/op-profiler.ts';
import type { RowScores } from '../step/step-loop.ts';
import { checkTokens } from './check-tokens.ts';
import { commonPrefixLength } from './common-prefix.ts';
import { computeUncached } from './compute.ts';
import { forwardTokens, scoreTokens } from './evaluate-rows.ts';
import { Sequence } from './sequence.ts';
import type { SessionRuntime } from './session-runtime.ts';
import { Work } from './work.ts';

export interface CreateSessionOptions {
  /** Tokens to start with. */
  readonly tokenIds?: ArrayLike<number>;
  /** How many of them are never cut back (system prompt and tools, as a rule). Default: none. */
  readonly anchor?: number;
}

/** Orders beginnings and ends of work, whatever model they belong to. */
let workClock = 0;

/**
 * A sequence of tokens that grows, keeps its keys and values in the model's cache between calls, and can be cut back.
 *
 * It does one thing at a time: what changes it is refused with a `SessionBusyError` while it works. Several sessions of a
 * model may work at the same time and take turns. Tokens whose computation was aborted or failed stay in the session and
 * are computed by the next call that needs them; to be rid of them, `truncate`.
 */
export class Session {
  readonly #runtime: SessionRuntime;
  readonly #sequence: Sequence;
  readonly #endByModel = (reason: HearthError) => this.#end(reason);
  #work: { readonly work: Work; readonly ended: Promise<unknown> } | undefined;
  #ending: Promise<void> | undefined;

  /** Made by `Model.createSession`. */
  constructor(runtime: SessionRuntime, options: CreateSessionOptions = {}) {
    const { tokenIds = [], anchor = 0 } = options;
    checkTokens(tokenIds, 0, runtime);
    if (!Number.isInteger(anchor) || anchor < 0 || anchor > tokenIds.length) {
      throw new InvalidArgumentError(
        `anchor must be a whole number from 0 to the ${tokenIds.length} tokens of the new session, got ${anchor}.`,
      );
    }
    this.#runtime = runtime;
    this.#sequence = new Sequence(new SequenceBlocks(runtime.pool, runtime.blockSize), anchor);
    this.#sequence.append(tokenIds);
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
   * @throws AbortError | DisposedError | NumericError; chunks that were done stay done
   */
  async prefill(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    this.#checkIdle('prefill');
    const { loop, chunkTokens } = this.#runtime;
    const compute = (signal: AbortSignal) => computeUncached(loop, this.#sequence, { signal, chunkTokens });
    await this.#begin(options.signal, compute).result;
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
    return this.#begin(options.signal, compute).result;
  }

  /**
   * Appends tokens and scores each of them given all before it: its log-probability and the most likely token in its place,
   * both [tokenIds.length]. Nothing of the vocabulary's size leaves the backend. When it rejects, the session is as long as
   * before.
   *
   * @throws InvalidArgumentError when the session is empty: the first token of a text follows nothing
   * @throws as `extend` and `prefill`
   */
  async score(tokenIds: ArrayLike<number>, options: { readonly signal?: AbortSignal } = {}): Promise<RowScores> {
    this.#checkIdle('score');
    if (this.length === 0) {
      throw new InvalidArgumentError('An empty session cannot score: give it the first token (BOS, as a rule) before.');
    }
    checkTokens(tokenIds, this.length, this.#runtime);
    const targets = Int32Array.from(tokenIds);
    const compute = (signal: AbortSignal) => scoreTokens(this.#runtime, this.#sequence, targets, signal);
    return this.#begin(options.signal, compute).result;
  }

  /**
   * Continues the tokens of the session. The generated tokens become part of it, those of a stop string and the end token
   * too.
   *
   * @throws InvalidArgumentError | ContextLengthError | SessionBusyError | DisposedError at once, before any work
   */
  generate(options: GenerateOptions = {}): Generation {
    this.#checkIdle('generate');
    const sequence = this.#sequence;
    const { loop, program, storageTypes, vocabSize, contextLength, eosTokenIds, chunkTokens, samplesInStep } =
      this.#runtime;
    const plan = planGeneration(options, { length: sequence.length, contextLength, vocabSize, eosTokenIds });
    const run = new GenerationRun({
      loop,
      sequence,
      plan,
      vocabSize,
      chunkTokens,
      samplesInStep,
      detokenizer: this.#runtime.createDetokenizer(),
      profiler: plan.profile ? new GenerationProfiler(program, storageTypes) : undefined,
    });

    const cancelled = new AbortError('The generation was cancelled.');
    const cancel = async () => {
      work.stop(cancelled);
      await result.catch(() => {});
    };
    const stream = new EventStream<GenerateEvent>(cancel);
    const { work, result } = this.#begin(options.signal, async (signal): Promise<GenerateResult> => {
      try {
        return await run.run(signal, (event) => stream.push(event));
      } catch (error) {
        if (work.reasonFor(error) === cancelled) return run.result({ finishReason: 'cancelled' });
        throw error;
      }
    });
    // Settled after `result`, so that a loop that has ended finds the session idle.
    result.then(
      () => stream.end(),
      (error) => stream.fail(error),
    );
    return { result, cancel, [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator]() };
  }

  /** Stops what is running, which rejects with a `DisposedError`, and gives the cache blocks back. Safe to call twice. */
  dispose(): Promise<void> {
    return this.#end(new DisposedError('session'));
  }

  #checkIdle(what: string): void {
    if (this.#ending) throw new DisposedError('session');
    if (this.#work) throw new SessionBusyError(what);
  }

  /** Runs one piece of work; the session is busy from now until it has ended. */
  #begin<Result>(callerSignal: AbortSignal | undefined, run: (signal: AbortSignal) => Promise<Result>) {
    const work = new Work(callerSignal);
    const sequence = this.#sequence;
    sequence.activeSince = ++workClock;
    const guarded = async (): Promise<Result> => {
      try {
        return await run(work.signal);
      } catch (error) {
        throw work.reasonFor(error);
      } finally {
        work.end();
        sequence.activeSince = undefined;
        sequence.lastUse = ++workClock;
        this.#work = undefined;
        // Its blocks may be taken now.
        this.#runtime.loop.retryStalled();
      }
    };
    // Started in a microtask: everything below is in place before the work can end.
    const result = Promise.resolve().then(guarded);
    this.#work = { work, ended: result.catch(() => {}) };
    return { work, result };
  }

  #end(reason: HearthError): Promise<void> {
    this.#ending ??= (async () => {
      this.#work?.work.stop(reason);
      await this.#work?.ended;
      this.#sequence.blocks.release();
      this.#sequence.numCachedTokens = 0;
      this.#runtime.sequences.delete(this.#sequence);
      this.#runtime.sessions.delete(this.#endByModel);
    })();
    return this.#ending;
  }
}
