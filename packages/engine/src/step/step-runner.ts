import {
  type Batch,
  countHeadRows,
  type Executable,
  NumericError,
  type RowOutput,
  type StepResult,
} from '@hearth/core';
import type { BlockPool } from '../cache/block-pool.ts';
import { prepareBlocks } from '../cache/prepare-blocks.ts';
import type { ChunkSizer } from '../schedule/chunk-sizer.ts';
import type { Scheduler } from '../schedule/scheduler.ts';
import { numEntryRows, type StepEntry, type Task, type TaskRows } from '../schedule/task.ts';
import { buildBatch, fillTokens, rowOutputs } from './build-batch.ts';
import { StepStatistics } from './step-statistics.ts';

/** A step that is ready to run but for its tokens. */
export interface PreparedStep {
  readonly entries: readonly StepEntry[];
  readonly batch: Batch;
  readonly rows: readonly RowOutput[];
}

/** What a task failed with: anything may be thrown, undefined too. */
export interface Failure {
  readonly error: unknown;
}

export interface StepRunnerOptions {
  readonly executable: Executable;
  readonly scheduler: Scheduler;
  readonly pool: BlockPool;
  readonly chunkSizer: ChunkSizer;
  /** A task is over, done or failed. It is no longer in the scheduler. */
  readonly onEnd: (task: Task, failure: Failure | undefined) => void;
  /** Called after each step, when its results are with the tasks. */
  readonly onStep?: (() => void) | undefined;
}

/** The one place that runs the executable, and hands each task what came of its rows. One step at a time. */
export class StepRunner {
  readonly #options: StepRunnerOptions;
  readonly statistics = new StepStatistics();
  #running: { readonly entries: readonly StepEntry[]; readonly controller: AbortController } | undefined;

  constructor(options: StepRunnerOptions) {
    this.#options = options;
  }

  /** Lays out a step: entries, and how each of their output rows is to be reduced. */
  prepare(entries: readonly StepEntry[], rows: readonly RowOutput[]): PreparedStep {
    return { entries, rows, batch: buildBatch(entries, this.#options.executable.program.cacheGroups.length) };
  }

  /** As `prepare`, asking the tasks. One that cannot say fails; undefined when none is left. */
  prepareAll(entries: readonly StepEntry[]): PreparedStep | undefined {
    const ready: { readonly entry: StepEntry; readonly rows: readonly RowOutput[] }[] = [];
    for (const entry of entries) {
      try {
        ready.push({ entry, rows: rowOutputs(entry) });
      } catch (error) {
        this.#end(entry.task, { error });
      }
    }
    if (ready.length === 0) return undefined;
    // Backends take hidden rows after all others.
    const isHidden = ({ rows }: (typeof ready)[number]) => rows[0]?.kind === 'hidden';
    ready.sort((a, b) => Number(isHidden(a)) - Number(isHidden(b)));
    return this.prepare(
      ready.map(({ entry }) => entry),
      ready.flatMap(({ rows }) => rows),
    );
  }

  /**
   * Runs a step. It never rejects: what fails is told to the tasks.
   * @param meanwhile called once the backend has the step
   */
  async run(step: PreparedStep, meanwhile?: () => void): Promise<void> {
    const { executable, pool } = this.#options;
    const { entries, batch, rows } = step;
    const controller = new AbortController();
    this.#running = { entries, controller };
    const startedAt = performance.now();
    try {
      fillTokens(batch, entries);
      await prepareBlocks(executable.cache, pool);
      const running = executable.step(batch, {
        output: { kind: 'rows', rows },
        profile: entries.some(({ task }) => task.onProfile !== undefined),
        signal: controller.signal,
      });
      meanwhile?.();
      const result = await running;
      const milliseconds = performance.now() - startedAt;
      this.#running = undefined;
      this.#observe(entries, milliseconds);
      this.#deliver(step, result);
    } catch (error) {
      this.#running = undefined;
      await this.#fail(entries, error);
    }
    this.#options.onStep?.();
  }

  /** Call it when tasks were taken out of the scheduler: a step that runs for nobody is ended between two ops. */
  abandon(): void {
    const { entries, controller } = this.#running ?? {};
    if (entries?.every(({ task }) => !this.#options.scheduler.has(task))) controller?.abort();
  }

  /**
   * A number that is not finite fails the step, but it is the fault of one sequence. The others run again without it: by
   * the numerics contract nobody can tell.
   */
  async #fail(entries: readonly StepEntry[], error: unknown): Promise<void> {
    const { scheduler } = this.#options;
    const wanted = entries.filter(({ task }) => scheduler.has(task));
    if (error instanceof NumericError && wanted.length > 1) {
      const half = wanted.length >> 1;
      await this.#runAgain(wanted.slice(0, half));
      await this.#runAgain(wanted.slice(half));
      return;
    }
    for (const { task } of wanted) this.#end(task, { error });
  }

  async #runAgain(entries: readonly StepEntry[]): Promise<void> {
    const step = this.prepareAll(entries.filter(({ task }) => this.#options.scheduler.has(task)));
    if (step) await this.run(step);
  }

  #deliver({ entries, batch, rows: wanted }: PreparedStep, result: StepResult): void {
    const { executable, scheduler } = this.#options;
    const startedAt = performance.now();
    const { vocabSize, hiddenSize } = executable.program;
    const widths = { vocabSize, hiddenSize, numHeadRows: countHeadRows({ kind: 'rows', rows: wanted }, wanted.length) };
    let firstRow = 0;
    for (const entry of entries) {
      const { task } = entry;
      const rows = new ResultRows(entry, result, firstRow, widths);
      firstRow += rows.numRows;
      // Cancelled while it ran: its blocks may be another's by now.
      if (!scheduler.has(task)) continue;
      try {
        task.sequence.numCachedTokens = entry.start + entry.numTokens;
        if (result.profile) task.onProfile?.(result.profile, batch);
        task.accept(rows);
        task.sequence.publishPrefix();
        if (task.isDone) this.#end(task);
      } catch (error) {
        this.#end(task, { error });
      }
    }
    this.statistics.addDelivery(performance.now() - startedAt);
  }

  #end(task: Task, failure?: Failure): void {
    this.#options.scheduler.remove(task);
    this.#options.onEnd(task, failure);
  }

  #observe(entries: readonly StepEntry[], milliseconds: number): void {
    const numPrefillTokens = entries.reduce((sum, { numTokens }) => sum + (numTokens > 1 ? numTokens : 0), 0);
    const numOtherTokens = entries.filter(({ numTokens }) => numTokens === 1).length;
    this.#options.chunkSizer.observe({ numPrefillTokens, numOtherTokens, milliseconds });
    this.statistics.addStep(entries, milliseconds);
  }
}

/** How the rows of a result lie. */
interface RowWidths {
  readonly vocabSize: number;
  readonly hiddenSize: number;
  /** Those of the step that are not hidden rows; they come first. */
  readonly numHeadRows: number;
}

class ResultRows implements TaskRows {
  readonly numTokens: number;
  readonly proposals: readonly number[];
  readonly numRows: number;
  readonly #result: StepResult;
  readonly #first: number;
  readonly #widths: RowWidths;

  constructor(entry: StepEntry, result: StepResult, firstRow: number, widths: RowWidths) {
    this.numTokens = entry.numTokens;
    this.proposals = entry.proposals;
    this.numRows = numEntryRows(entry);
    this.#result = result;
    this.#first = firstRow;
    this.#widths = widths;
  }

  logits(index: number): Float32Array {
    const row = this.#first + index;
    const { vocabSize } = this.#widths;
    return this.#result.logits!.subarray(row * vocabSize, (row + 1) * vocabSize);
  }

  hidden(index: number): Float32Array {
    const { hiddenSize, numHeadRows } = this.#widths;
    const row = this.#first + index - numHeadRows;
    return this.#result.hidden!.subarray(row * hiddenSize, (row + 1) * hiddenSize);
  }

  sampled(index: number): number {
    return this.#result.sampled![this.#first + index]!;
  }

  score(index: number) {
    const row = this.#first + index;
    return { logprob: this.#result.logprobs![row]!, argmax: this.#result.argmax![row]! };
  }
}
