import { AbortError, type Executable } from '@hearth/core';
import type { BlockPool } from '../cache/block-pool.ts';
import type { ChunkSizer } from '../schedule/chunk-sizer.ts';
import type { Scheduler } from '../schedule/scheduler.ts';
import type { Task } from '../schedule/task.ts';
import { mostTimerMs } from './most-timer-ms.ts';
import { overlappedLoop } from './overlapped-loop.ts';
import { simpleLoop } from './simple-loop.ts';
import { type Failure, type PreparedStep, StepRunner } from './step-runner.ts';
import type { StepTotals } from './step-statistics.ts';

/** `overlapped` prepares a step while another runs; `simple` does one thing after the other. Both run the same steps. */
export type LoopKind = 'overlapped' | 'simple';

/** What a loop is made of. */
export interface LoopParts {
  readonly scheduler: Scheduler;
  readonly runner: StepRunner;
  /** Has proposals made, and waits for them for a while; then for tasks that cannot go on yet. */
  propose(): Promise<void>;
  /** Undefined when there is nothing to run. */
  plan(): PreparedStep | undefined;
  /** The step after one that runs; undefined when it cannot be told yet. */
  planNext(running: PreparedStep): PreparedStep | undefined;
}

export interface TaskLoopOptions {
  readonly executable: Executable;
  readonly scheduler: Scheduler;
  readonly pool: BlockPool;
  readonly chunkSizer: ChunkSizer;
  readonly kind: LoopKind;
  /** How long a step waits for proposals that are being made, in milliseconds. Tasks without any go on one by one. */
  readonly patienceMs: number;
  /** Called after each step, when its results are with the tasks. */
  readonly onStep?: (() => void) | undefined;
}

/**
 * How long the others wait for a task that cannot go on yet, in milliseconds: about a step. Masks of a grammar come in less
 * than one; who takes longer, misses a step.
 */
const readyPatienceMs = 15;

/** Takes tasks, and runs steps as long as there are any. */
export class TaskLoop {
  readonly #scheduler: Scheduler;
  readonly #runner: StepRunner;
  readonly #kind: LoopKind;
  readonly #patienceMs: number;
  readonly #settlers = new Map<Task, (failure: Failure | undefined) => void>();
  #draining: Promise<void> | undefined;
  /** Those that the others have waited for in vain. */
  readonly #slow = new WeakSet<Task>();
  /** Called when a task has come or gone. */
  #onChange: (() => void) | undefined;

  constructor({ kind, patienceMs, ...options }: TaskLoopOptions) {
    this.#scheduler = options.scheduler;
    this.#kind = kind;
    this.#patienceMs = Math.min(patienceMs, mostTimerMs);
    this.#runner = new StepRunner({ ...options, onEnd: (task, failure) => this.#settle(task, failure) });
  }

  get totals(): StepTotals {
    return this.#runner.statistics.totals;
  }

  /**
   * Takes a task and resolves when it is done. When it rejects, its sequence has every token that it had taken before.
   *
   * @throws QueueFullError at once
   * @throws AbortError when the signal fires: in the queue, and between two ops when nobody else is in the step
   * @throws CacheExhaustedError when the whole cache is too small for the sequence
   * @throws NumericError, and what the task throws when it is given its rows
   */
  run(task: Task, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(new AbortError(undefined, { cause: signal.reason }));
    if (task.isDone) return Promise.resolve();
    this.#scheduler.add(task);
    this.#onChange?.();
    const done = new Promise<void>((resolve, reject) => {
      const abort = () => {
        this.#end(task, { error: new AbortError(undefined, { cause: signal.reason }) });
        this.#runner.abandon();
      };
      signal.addEventListener('abort', abort);
      this.#settlers.set(task, (failure) => {
        signal.removeEventListener('abort', abort);
        if (failure) reject(failure.error);
        else resolve();
      });
    });
    this.#draining ??= this.#drain();
    return done;
  }

  /** Resolves when nothing runs or waits. */
  async idle(): Promise<void> {
    while (this.#draining !== undefined) await this.#draining;
  }

  async #drain(): Promise<void> {
    // Tasks that are handed in in the same turn are seen together by the first step.
    await null;
    const parts: LoopParts = {
      scheduler: this.#scheduler,
      runner: this.#runner,
      propose: () => this.#propose(),
      plan: () => this.#timed(() => this.#plan()),
      planNext: (running) => this.#timed(() => this.#planNext(running)),
    };
    const loop = this.#kind === 'simple' ? simpleLoop : overlappedLoop;
    try {
      // Asked once more, right before this is over: a task may have come after the loop had looked for the last time.
      while (this.#scheduler.hasWork) await loop(parts);
    } catch (error) {
      // A mistake of ours: nobody may wait for ever because of it.
      for (const task of [...this.#settlers.keys()]) this.#end(task, { error });
    } finally {
      this.#draining = undefined;
    }
  }

  async #propose(): Promise<void> {
    const proposing = this.#scheduler.propose();
    if (proposing) await atMost(this.#patienceMs, proposing);
    await this.#awaitReady();
  }

  async #awaitReady(): Promise<void> {
    const { numReady, waiting } = this.#scheduler.getReady();
    if (waiting.size === 0) return;
    if (numReady === 0 && this.#scheduler.numWaiting === 0) {
      // Nobody can go on: until one can, comes or goes.
      const changed = new Promise<void>((resolve) => {
        this.#onChange = resolve;
      });
      await Promise.race([...waiting.values(), changed]);
      this.#onChange = undefined;
      return;
    }
    const worthwhile = [...waiting].filter(([task]) => numReady === 0 || !this.#slow.has(task));
    if (worthwhile.length > 0) await atMost(readyPatienceMs, Promise.all(worthwhile.map(([, ready]) => ready)));
    for (const [task] of waiting) {
      if (task.getReady?.()) this.#slow.add(task);
      else this.#slow.delete(task);
    }
  }

  #plan(): PreparedStep | undefined {
    const { entries, ended } = this.#scheduler.plan();
    for (const { task, error } of ended) this.#end(task, error && { error });
    return this.#runner.prepareAll(entries);
  }

  #planNext({ entries }: PreparedStep): PreparedStep | undefined {
    const next = this.#scheduler.prepare(entries);
    return (
      next &&
      this.#runner.prepare(
        next,
        next.map(({ task }) => task.nextRowOutput()!),
      )
    );
  }

  #timed<Result>(plan: () => Result): Result {
    const startedAt = performance.now();
    const result = plan();
    this.#runner.statistics.addPlanning(performance.now() - startedAt);
    return result;
  }

  #end(task: Task, failure: Failure | undefined): void {
    this.#scheduler.remove(task);
    this.#onChange?.();
    this.#settle(task, failure);
  }

  #settle(task: Task, failure: Failure | undefined): void {
    this.#settlers.get(task)?.(failure);
    this.#settlers.delete(task);
  }
}

/** Waits for something, but not for longer than so many milliseconds. */
async function atMost(milliseconds: number, something: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds);
  });
  await Promise.race([something, patience]);
  clearTimeout(timer);
}
