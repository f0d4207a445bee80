import type { BlockPool } from '../cache/block-pool.ts';
import { CacheExhaustedError, QueueFullError } from '../errors.ts';
import type { Sequence } from '../session/sequence.ts';
import type { ChunkSizer } from './chunk-sizer.ts';
import { type Demand, divideBudget, type Grant } from './divide-budget.ts';
import { byRank, RankedList, type RankedTask } from './rank.ts';
import { takeBlocks } from './take-blocks.ts';
import type { StepEntry, Task } from './task.ts';
import { withoutFollowers } from './without-followers.ts';

export interface SchedulerOptions {
  readonly pool: BlockPool;
  /** Positions of a block. */
  readonly blockSize: number;
  readonly chunkSizer: ChunkSizer;
  /** All sequences there are, also the idle ones, whose blocks can be reclaimed. */
  readonly sequences: ReadonlySet<Sequence>;
  /** Most tasks that run at a time; the others wait. */
  readonly maxSequences: number;
  /** Most tasks that wait. */
  readonly maxQueued: number;
  readonly maxTokensPerStep: number;
  readonly maxOutputRows: number;
  /** Whether there is a prefix cache. */
  readonly sharesPrefixes: boolean;
}

/** The next step, and tasks that need none: all they wanted was in the prefix cache, or there can be none for them. */
export interface StepPlan {
  readonly entries: readonly StepEntry[];
  readonly ended: readonly { readonly task: Task; readonly error?: Error }[];
}

/**
 * Who runs, who waits, and what goes into the next step. Plain state: it neither waits nor runs anything, and blocks are
 * numbers to it.
 *
 *     add ──> waiting ──admit──> running ──plan──> entries of a step
 *                ^                  |
 *                └────preempted─────┘
 */
export class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #waiting = new RankedList();
  readonly #running = new RankedList();
  readonly #ranked = new Map<Task, RankedTask>();
  #numArrived = 0;
  numPreemptions = 0;

  constructor(options: SchedulerOptions) {
    this.#options = options;
  }

  get numRunning(): number {
    return this.#running.size;
  }

  get numWaiting(): number {
    return this.#waiting.size;
  }

  get hasWork(): boolean {
    return this.#ranked.size > 0;
  }

  /** Whether the task was added and not removed since. */
  has(task: Task): boolean {
    return this.#ranked.has(task);
  }

  /**
   * @throws CacheExhaustedError when the task would not fit if it were alone
   * @throws QueueFullError when too many wait already
   */
  add(task: Task): void {
    const { pool, blockSize, maxSequences, maxQueued } = this.#options;
    const numNeeded = Math.ceil(task.mostPositions / blockSize);
    if (numNeeded > pool.numBlocks) throw new CacheExhaustedError(numNeeded, pool.numAvailableBlocks, pool.numBlocks);
    if (this.#ranked.size >= maxSequences + maxQueued) throw new QueueFullError(this.#waiting.size, maxQueued);
    const entry = { task, arrival: this.#numArrived++ };
    this.#ranked.set(task, entry);
    this.#waiting.add(entry);
  }

  /** Takes a task out, wherever it is. What it has computed stays with its sequence. */
  remove(task: Task): void {
    const entry = this.#ranked.get(task);
    if (!entry) return;
    this.#ranked.delete(task);
    this.#waiting.remove(entry);
    this.#running.remove(entry);
    task.sequence.blocks.shrinkTo(task.sequence.numCachedTokens);
  }

  /**
   * Has every task that is about to decode make its proposals. Undefined when there is nothing to wait for; who has been asked
   * and has not answered is not waited for again.
   */
  propose(): Promise<unknown> | undefined {
    const pending: Promise<void>[] = [];
    for (const { task } of this.#running.all()) {
      const isNext = task.upTo - task.sequence.numCachedTokens === 1;
      const proposing = isNext ? task.propose?.() : undefined;
      if (proposing) pending.push(proposing);
    }
    return pending.length > 0 ? Promise.all(pending) : undefined;
  }

  /** Has every running task get ready: how many can go on, and those that cannot yet, with what they wait for. */
  getReady(): { readonly numReady: number; readonly waiting: ReadonlyMap<Task, Promise<void>> } {
    const waiting = new Map<Task, Promise<void>>();
    const running = this.#running.all();
    for (const { task } of running) {
      const ready = task.getReady?.();
      if (ready) waiting.set(task, ready);
    }
    return { numReady: running.length - waiting.size, waiting };
  }

  /** Admits who can be, and chooses the next step. */
  plan(): StepPlan {
    // Those that are admitted have looked for theirs.
    for (const { task } of this.#running.all()) this.#findPrefix(task);
    this.#admit();
    const all = this.#running.all();
    const ended: { task: Task; error?: Error }[] = all.filter(({ task }) => task.isDone).map(({ task }) => ({ task }));
    const atWork = all.filter(({ task }) => !task.isDone && !task.getReady?.());
    const { sharesPrefixes, blockSize } = this.#options;
    const running = sharesPrefixes ? withoutFollowers(atWork, blockSize) : atWork;
    const grants = divideBudget(
      running.map(({ task }) => demandOf(task)),
      this.#budget(),
    );
    const entries: StepEntry[] = [];
    for (const [i, ranked] of running.entries()) {
      // Those behind may have lost their blocks to those before.
      if (grants[i]!.numTokens === 0 || !this.#running.has(ranked)) continue;
      const entry = this.#giveBlocks(ranked, grants[i]!);
      if (entry) entries.push(entry);
      else if (this.#running.size > 1) this.#preempt(ranked);
      // A session file that is written or read holds blocks a moment longer: the task waits for them.
      else if (!this.#options.pool.isInTransfer) ended.push({ task: ranked.task, error: this.#exhausted(ranked.task) });
    }
    return { entries, ended };
  }

  /**
   * The step after one that is running, if it can be told before the results are there: nobody waits, and each task goes on
   * with the one token that comes of it. Blocks for it are taken already. `isStillNext` says whether it came so.
   */
  prepare(entries: readonly StepEntry[]): readonly StepEntry[] | undefined {
    const running = this.#running.all();
    if (this.#waiting.size > 0 || entries.length !== running.length) return undefined;
    const next: StepEntry[] = [];
    for (const [i, { task, start, numTokens, proposals }] of entries.entries()) {
      const end = start + numTokens;
      const goesOn = task === running[i]!.task && end === task.upTo && proposals.length === 0;
      if (!goesOn || end >= task.mostPositions || !task.nextRowOutput()) return undefined;
      const { blocks } = task.sequence;
      if (blocks.numMissingBlocks(end + 1, end) > this.#options.pool.numAvailableBlocks) return undefined;
      blocks.growTo(end + 1, end);
      next.push({ task, start: end, numTokens: 1, proposals: [] });
    }
    return next;
  }

  /** Whether `plan` would choose these entries now. */
  isStillNext(entries: readonly StepEntry[]): boolean {
    const running = this.#running.all();
    return (
      this.#waiting.size === 0 &&
      entries.length === running.length &&
      entries.every(
        ({ task, start }, i) =>
          task === running[i]!.task &&
          task.sequence.numCachedTokens === start &&
          task.upTo === start + 1 &&
          task.proposals.length === 0,
      )
    );
  }

  /** In the order of their rank, while there is room for whole prompts: half a prompt in the cache helps nobody. */
  #admit(): void {
    // Blocks in all tables: counted once, as there may be thousands of sessions.
    let numHeld: number | undefined;
    for (let head = this.#waiting.first; head; head = this.#waiting.first) {
      if (this.#running.size >= this.#options.maxSequences) return;
      const { blocks } = head.task.sequence;
      numHeld ??= [...this.#options.sequences].reduce((sum, sequence) => sum + sequence.blocks.numBlocks, 0);
      numHeld -= blocks.numBlocks;
      this.#findPrefix(head.task);
      numHeld += blocks.numBlocks;
      if (this.#running.size > 0 && !this.#hasRoomFor(head, numHeld)) return;
      this.#waiting.remove(head);
      this.#running.add(head);
    }
  }

  /** Whether what it lacks is there, or could be taken, besides what those before it still lack. */
  #hasRoomFor(head: RankedTask, numHeld: number): boolean {
    const before = this.#running.all().filter((other) => byRank(other, head) < 0);
    let numWanted = 0;
    let numTakeable = this.#options.pool.numAvailableBlocks + numHeld;
    for (const { task } of [head, ...before]) {
      const { blocks, numCachedTokens } = task.sequence;
      numWanted += blocks.numMissingBlocks(Math.min(task.upTo + 1, task.mostPositions), numCachedTokens);
      numTakeable -= blocks.numBlocks;
    }
    return numWanted <= numTakeable;
  }

  #budget() {
    const { maxTokensPerStep, maxOutputRows, chunkSizer } = this.#options;
    // Nobody is kept waiting by the prefill of the only task, but for whoever comes next, if it is to give way.
    const [only] = this.#ranked.keys();
    const isAlone = this.#ranked.size === 1 && only!.priority >= 0;
    return {
      maxTokens: maxTokensPerStep,
      maxOutputRows,
      maxPrefillTokens: isAlone ? maxTokensPerStep : chunkSizer.chunkTokens,
      // Who has lower priority makes the others wait as little as can be.
      maxLowPrefillTokens: chunkSizer.leastTokens,
    };
  }

  /** Sees to it that wanted rows are computed, and takes what is there of the rest from the prefix cache. */
  #findPrefix({ sequence, upTo, outputFrom }: Task): void {
    sequence.numCachedTokens = Math.min(sequence.numCachedTokens, outputFrom);
    if (upTo - sequence.numCachedTokens <= 1) return;
    sequence.attachPrefix(Math.min(outputFrom, upTo));
  }

  /** The entry, with blocks for all of its positions; undefined when they are not to be had. */
  #giveBlocks(ranked: RankedTask, grant: Grant): StepEntry | undefined {
    const { task } = ranked;
    const { blocks, numCachedTokens: start } = task.sequence;
    const end = start + grant.numTokens;
    const proposals = task.proposals.slice(0, grant.numProposals);
    // Nobody loses blocks for the sake of guesses.
    const fits = blocks.numMissingBlocks(end + proposals.length, start) <= this.#options.pool.numAvailableBlocks;
    if (!fits) proposals.length = 0;
    const numPositions = end + proposals.length;
    if (!this.#makeRoom(ranked, () => blocks.numMissingBlocks(numPositions, start))) return undefined;
    blocks.growTo(numPositions, start);
    return { task, start, numTokens: grant.numTokens, proposals };
  }

  /** Frees blocks for something that is not a task, as far as it goes without taking from those that run. */
  reclaim(numBlocks: number): void {
    this.#takeBlocks(() => numBlocks, []);
  }

  #makeRoom(ranked: RankedTask, numMissing: () => number): boolean {
    const behind = this.#running.all().filter((other) => byRank(ranked, other) < 0);
    return this.#takeBlocks(numMissing, behind);
  }

  #takeBlocks(numMissing: () => number, running: readonly RankedTask[]): boolean {
    const { pool, sequences } = this.#options;
    // As nearly always.
    if (numMissing() <= pool.numAvailableBlocks) return true;
    const busy = new Map([...this.#ranked.values()].map((ranked) => [ranked.task.sequence, ranked]));
    return takeBlocks(pool, numMissing, {
      idle: () => [...sequences].filter((sequence) => !busy.has(sequence)),
      waiting: () => this.#waiting.all().map(({ task }) => task.sequence),
      running: () => running.map(({ task }) => task.sequence),
      preempt: (sequence) => this.#preempt(busy.get(sequence)!),
    });
  }

  /** Its tokens stay; they are computed again when its turn comes. */
  #preempt(ranked: RankedTask): void {
    ranked.task.sequence.releaseBlocks();
    this.#running.remove(ranked);
    this.#waiting.add(ranked);
    this.numPreemptions++;
  }

  #exhausted({ sequence, mostPositions }: Task): CacheExhaustedError {
    const { pool } = this.#options;
    const numMissing = sequence.blocks.numMissingBlocks(mostPositions, sequence.numCachedTokens);
    return new CacheExhaustedError(numMissing, pool.numAvailableBlocks, pool.numBlocks);
  }
}

function demandOf({ sequence, upTo, outputFrom, proposals, priority }: Task): Demand {
  const numTokens = upTo - sequence.numCachedTokens;
  const numWithoutRow = Math.min(numTokens, outputFrom - sequence.numCachedTokens);
  return { numTokens, numWithoutRow, numProposals: proposals.length, priority };
}
