import { setImmediate as nextTurn } from 'node:timers/promises';
import { AbortError, type Batch, type Executable, type OpTiming, type StepResult, throwIfAborted } from '@hearth/core';
import type { BlockPool } from '../cache/block-pool.ts';
import { makeRoom } from '../cache/make-room.ts';
import { prepareBlocks } from '../cache/prepare-blocks.ts';
import { CacheExhaustedError } from '../errors.ts';
import type { Sequence } from '../session/sequence.ts';
import { buildBatch, numOutputRows, type SequenceStep, stepOutput } from './build-batch.ts';
import { StepQueue } from './step-queue.ts';

/** What rows of logits are reduced to when only one token of each counts. */
export interface RowScores {
  /** Log-probability of the row's target, [rows]. */
  readonly logprobs: Float32Array;
  /** The most likely token, the lower id where two are equal, [rows]. */
  readonly argmax: Int32Array;
}

/** What a step is given besides its tokens. */
export interface RunOptions {
  readonly signal: AbortSignal;
  /**
   * Receives the wanted logits, [rows, vocabSize], before the next step starts. They are a view that is valid only
   * during the call.
   */
  readonly onLogits?: (logits: Float32Array) => void;
  /** Receives the scores of a step with targets. */
  readonly onScores?: (scores: RowScores) => void;
  /** Receives the token of a step that samples. */
  readonly onSampled?: (tokenId: number) => void;
  /** Receives the time of every op, which is measured only when this is here, and the step that took it. */
  readonly onProfile?: (profile: readonly OpTiming[], batch: Batch) => void;
}

/**
 * The sequence lost its cache blocks to an older one before its step ran. It has its tokens and computes them again: this
 * is for `runStep` alone and never leaves the package.
 */
export class PreemptedError extends Error {}

interface QueuedStep extends RunOptions {
  readonly step: SequenceStep;
  readonly settle: { resolve(): void; reject(error: unknown): void };
}

/**
 * The one place that runs the executable: choose the next steps, find blocks for them, run the batch, hand out the
 * results. One batch at a time.
 */
export class StepLoop {
  readonly #executable: Executable;
  readonly #pool: BlockPool;
  /** All sequences there are, also the idle ones, whose blocks can be reclaimed. */
  readonly #sequences: ReadonlySet<Sequence>;
  readonly #queue = new StepQueue<QueuedStep>();
  /** Steps that had their turn but found no blocks; they wait for an older sequence to end. */
  readonly #stalled = new StepQueue<QueuedStep>();
  #running: Promise<void> | undefined;

  constructor(executable: Executable, pool: BlockPool, sequences: ReadonlySet<Sequence>) {
    this.#executable = executable;
    this.#pool = pool;
    this.#sequences = sequences;
  }

  /**
   * Queues one step of a sequence and resolves when it has run: its tokens are then in the cache. When it rejects, the
   * sequence is as it was before.
   *
   * @throws AbortError when the signal fires, while the step waits or runs
   * @throws PreemptedError when the sequence lost its blocks
   * @throws CacheExhaustedError when the whole cache is too small for the sequence
   * @throws NumericError
   */
  run(step: SequenceStep, options: RunOptions): Promise<void> {
    return new Promise((resolve, reject) => {
      throwIfAborted(options.signal);
      const leaveQueue = () => {
        const isWaiting = this.#queue.remove(entry) || this.#stalled.remove(entry);
        if (isWaiting) entry.settle.reject(new AbortError(undefined, { cause: options.signal.reason }));
      };
      const stopListening = () => options.signal.removeEventListener('abort', leaveQueue);
      const entry: QueuedStep = {
        ...options,
        step,
        settle: {
          resolve: () => {
            stopListening();
            resolve();
          },
          reject: (error) => {
            stopListening();
            reject(error);
          },
        },
      };
      options.signal.addEventListener('abort', leaveQueue);
      this.#queue.push(entry);
      this.#running ??= this.#drain();
    });
  }

  /** Call it when a sequence has ended its work: steps that wait for blocks may find them now. */
  retryStalled(): void {
    if (this.#stalled.size === 0) return;
    this.#queue.unshift(this.#stalled.takeAll());
    this.#running ??= this.#drain();
  }

  /** Resolves when no step runs or waits. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  async #drain(): Promise<void> {
    // Steps that are queued in the same turn are seen together by the choice below.
    await null;
    while (this.#queue.size > 0) {
      await this.#runNext();
      // Timers and I/O get a turn between any two steps, also with a backend that never leaves the microtask queue.
      await nextTurn();
    }
    this.#running = undefined;
  }

  async #runNext(): Promise<void> {
    const chosen: QueuedStep[] = [];
    for (const entry of this.#queue.takeNext()) this.#choose(entry, chosen);
    if (chosen.length === 0) return;
    try {
      await prepareBlocks(this.#executable.cache, this.#pool);
      const batch = buildBatch(
        chosen.map((entry) => entry.step),
        this.#executable.program.cacheGroups.length,
      );
      // One sequence per batch for now, so it may decide the output and its signal may end the whole step.
      const { step, signal } = chosen[0]!;
      const result = await this.#executable.step(batch, {
        output: stepOutput(step),
        profile: chosen.some((entry) => entry.onProfile !== undefined),
        signal,
      });
      this.#deliver(chosen, batch, result);
    } catch (error) {
      for (const { step, settle } of chosen) {
        // Blocks that were taken for this step hold nothing of use.
        step.sequence.blocks.shrinkTo(step.sequence.numCachedTokens);
        settle.reject(error);
      }
    }
  }

  /** Gives the sequence of a step its blocks and adds the step to the chosen ones. Without blocks it waits, or has failed. */
  #choose(entry: QueuedStep, chosen: QueuedStep[]): void {
    const { step, settle } = entry;
    const { blocks, numCachedTokens } = step.sequence;
    const numPositions = numCachedTokens + step.numTokens;
    const numMissing = blocks.numMissingBlocks(numPositions, numCachedTokens);
    const { outcome, preempted } = makeRoom(this.#pool, this.#sequences, step.sequence, numMissing);
    for (const sequence of preempted) this.#preempt(sequence, chosen);
    if (outcome === 'found') {
      blocks.growTo(numPositions, numCachedTokens);
      chosen.push(entry);
    } else if (outcome === 'wait') {
      this.#stalled.push(entry);
    } else {
      settle.reject(new CacheExhaustedError(numMissing, this.#pool.numAvailableBlocks, this.#pool.numBlocks));
    }
  }

  /** Takes back the step of a sequence that has lost its blocks; it was made for what had been in them. */
  #preempt(sequence: Sequence, chosen: QueuedStep[]): void {
    const isIts = ({ step }: QueuedStep) => step.sequence === sequence;
    const inBatch = chosen.findIndex(isIts);
    const entry = inBatch >= 0 ? chosen.splice(inBatch, 1)[0] : (this.#queue.find(isIts) ?? this.#stalled.find(isIts));
    if (!entry) return;
    this.#queue.remove(entry);
    this.#stalled.remove(entry);
    entry.settle.reject(new PreemptedError());
  }

  #deliver(chosen: readonly QueuedStep[], batch: Batch, result: StepResult): void {
    const { logits = new Float32Array(0), logprobs, argmax, sampled, profile } = result;
    const { vocabSize } = this.#executable.program;
    let row = 0;
    for (const { step, onLogits, onScores, onSampled, onProfile, settle } of chosen) {
      step.sequence.numCachedTokens += step.numTokens;
      const numRows = numOutputRows(step);
      try {
        if (profile) onProfile?.(profile, batch);
        if (step.targets && logprobs && argmax) onScores?.({ logprobs, argmax });
        else if (step.sample && sampled) onSampled?.(sampled[row]!);
        else onLogits?.(logits.subarray(row * vocabSize, (row + numRows) * vocabSize));
        settle.resolve();
      } catch (error) {
        settle.reject(error);
      }
      row += numRows;
    }
  }
}
