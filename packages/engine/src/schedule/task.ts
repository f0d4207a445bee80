import type { Batch, OpTiming, RowOutput } from '@hearth/core';
import type { Sequence } from '../session/sequence.ts';

/**
 * A piece of work on one sequence: a generation, a prefill, the scoring of a text. It says what it wants computed next and
 * takes what came; when and with whom it runs is the scheduler's business.
 *
 *     0 ......... numCachedTokens ......... outputFrom ... upTo | proposals
 *     |  in the cache    |  to be computed     | an output row for each of these |
 */
export interface Task {
  readonly sequence: Sequence;
  /** Higher ones run first; among equals, who came first. */
  readonly priority: number;
  /** Most positions that the sequence will need in the cache before the task is done. */
  readonly mostPositions: number;
  /** Tokens of the sequence that are to be in the cache. */
  readonly upTo: number;
  /** First position whose output row is wanted; all that follow are wanted too. From `upTo` on: none. */
  readonly outputFrom: number;
  /** Guesses at the tokens that follow, to be run after the last one if there is room for them. */
  readonly proposals: readonly number[];
  readonly isDone: boolean;
  /** Present when the times of the ops are wanted. */
  readonly onProfile?: ((timings: readonly OpTiming[], batch: Batch) => void) | undefined;

  /** Makes new proposals, where the task has a source of them; the next step waits for them for a while. Never rejects. */
  propose?(): Promise<void> | undefined;
  /**
   * Starts to get what it needs before it can go on, with the proposals that it has by now. Resolves when it is there; until
   * then the task is left out of steps. Undefined: it can go on. Never rejects; what went wrong is thrown by `rowOutput`.
   */
  getReady?(): Promise<void> | undefined;
  /** How row `index`, counted from `outputFrom`, is to be reduced. The kind is `hidden` for all rows of a task, or for none. */
  rowOutput(index: number): RowOutput;
  /**
   * As `rowOutput(0)` when the token that will come next is appended, if that can be said without knowing the token; the task
   * must then want just one more token. Undefined: it cannot be said.
   */
  nextRowOutput(): RowOutput | undefined;
  /**
   * Takes the rows of a step, whose tokens are in the cache now.
   * @throws what the task then fails with
   */
  accept(rows: TaskRows): void;
}

/** The output rows of one task in a step. Views into the step's results, valid during `accept`. */
export interface TaskRows {
  /** Tokens of the sequence that this step computed. */
  readonly numTokens: number;
  /** Guesses that ran after them. */
  readonly proposals: readonly number[];
  readonly numRows: number;
  /** [vocabSize] */
  logits(index: number): Float32Array;
  /** [hiddenSize] */
  hidden(index: number): Float32Array;
  sampled(index: number): number;
  score(index: number): { readonly logprob: number; readonly argmax: number };
}

/** The part of one task in a step. */
export interface StepEntry {
  readonly task: Task;
  /** Position of its first token. */
  readonly start: number;
  readonly numTokens: number;
  readonly proposals: readonly number[];
}

/** How many tokens an entry adds to the batch. */
export function numEntryTokens({ numTokens, proposals }: StepEntry): number {
  return numTokens + proposals.length;
}

/** How many output rows an entry wants: they belong to its last tokens. */
export function numEntryRows({ task, start, numTokens, proposals }: StepEntry): number {
  if (start + numTokens <= task.outputFrom) return 0;
  return start + numTokens + proposals.length - Math.max(start, task.outputFrom);
}
