import { describe, expect, it } from 'vitest';
import { BlockPool } from '../cache/block-pool.ts';
import { PrefixCache } from '../cache/prefix-cache.ts';
import { SequenceBlocks } from '../cache/sequence-blocks.ts';
import { CacheExhaustedError, QueueFullError } from '../errors.ts';
import { Sequence } from '../session/sequence.ts';
import { type FakeTask, type FakeTaskOptions, fakeTask } from '../test/fake-task.ts';
import { ChunkSizer } from './chunk-sizer.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';
import type { StepEntry } from './task.ts';

const blockSize = 16;

function setUp(options: { numBlocks?: number } & Partial<SchedulerOptions> = {}) {
  const { numBlocks = 16, maxTokensPerStep = 32 } = options;
  const pool = new BlockPool(numBlocks);
  const prefixes = new PrefixCache(pool, blockSize);
  const sequences = new Set<Sequence>();
  const scheduler = new Scheduler({
    pool,
    blockSize,
    chunkSizer: new ChunkSizer({ targetMs: Number.POSITIVE_INFINITY, maxTokens: maxTokensPerStep }),
    sequences,
    maxSequences: 4,
    maxQueued: 10,
    maxTokensPerStep,
    maxOutputRows: 16,
    sharesPrefixes: true,
    ...options,
  });
  let nextToken = 0;
  /** A sequence of tokens that no other has. */
  const newSequence = (length: number, salt?: string) => {
    const sequence = new Sequence(new SequenceBlocks(pool, blockSize, prefixes, salt));
    sequence.append(Array.from({ length }, () => nextToken++));
    sequences.add(sequence);
    return sequence;
  };
  const add = (length: number, task: FakeTaskOptions = {}) => {
    const added = fakeTask(newSequence(length), { mostPositions: length + 20, ...task });
    scheduler.add(added);
    return added;
  };
  /** Does what running the step does to the bookkeeping: a token is made where the last one ran. */
  const run = (entries: readonly StepEntry[]) => {
    const { zero, ...copies } = pool.takePreparations();
    pool.finishPreparations({ zero, ...copies });
    for (const { task, start, numTokens } of entries) {
      task.sequence.numCachedTokens = start + numTokens;
      task.sequence.publishPrefix();
      if (start + numTokens === task.upTo) task.sequence.append([nextToken++]);
    }
    const tables = [...sequences].flatMap((sequence) => sequence.blocks.table);
    pool.checkIntegrity(tables);
  };
  const step = () => {
    const plan = scheduler.plan();
    run(plan.entries);
    return plan;
  };
  return { pool, scheduler, sequences, newSequence, add, run, step };
}

const granted = (entries: readonly StepEntry[], tasks: readonly FakeTask[]) =>
  tasks.map((task) => entries.find((entry) => entry.task === task)?.numTokens ?? 0);

describe('Scheduler', () => {
  it('puts single tokens and chunks of prompts into one step', () => {
    const { add, step } = setUp();
    const a = add(3);
    step();
    const b = add(50);
    const c = add(5);
    expect(granted(step().entries, [a, b, c])).toEqual([1, 26, 5]);
    expect(granted(step().entries, [a, b, c])).toEqual([1, 24, 1]);
    expect(granted(step().entries, [a, b, c])).toEqual([1, 1, 1]);
  });

  it('runs no more sequences than it may, by priority and then by arrival', () => {
    const { add, scheduler, step } = setUp({ maxSequences: 2 });
    const [a, b, urgent] = [add(2), add(2), add(2, { priority: 5 })];
    expect(granted(step().entries, [a, b, urgent])).toEqual([2, 0, 2]);
    expect([scheduler.numRunning, scheduler.numWaiting]).toEqual([2, 1]);
    scheduler.remove(a);
    expect(granted(step().entries, [a, b, urgent])).toEqual([0, 2, 1]);
  });

  it('refuses when too many wait, and takes the next one when one has gone', () => {
    const { add, scheduler } = setUp({ maxSequences: 1, maxQueued: 1 });
    const first = add(2);
    add(2);
    expect(() => add(2)).toThrow(QueueFullError);
    scheduler.remove(first);
    add(2);
    expect(scheduler.numWaiting).toBe(2);
  });

  it('gives full steps to a task that is alone, but not to one of low priority, as who comes next would wait', () => {
    const tokensOf = (priority: number) => {
      const chunkSizer = new ChunkSizer({ targetMs: 100, maxTokens: 128 });
      chunkSizer.observe({ numPrefillTokens: 20, numOtherTokens: 0, milliseconds: 80 });
      const { add, step } = setUp({ chunkSizer, maxTokensPerStep: 128 });
      add(100, { priority });
      return step().entries[0]!.numTokens;
    };
    expect([tokensOf(0), tokensOf(-1)]).toEqual([100, 20]);
  });

  it('refuses what would not fit alone', () => {
    const { add, scheduler } = setUp({ numBlocks: 2 });
    expect(() => add(13, { mostPositions: 33 })).toThrow(CacheExhaustedError);
    expect(() => add(13, { mostPositions: 33 })).toThrow(/3 cache blocks are needed/);
    add(13, { mostPositions: 32 });
    expect(scheduler.hasWork).toBe(true);
  });

  it('waits for blocks that a file is written from, and fails only when none will come back', () => {
    const { pool, add, step } = setUp({ numBlocks: 2 });
    const task = add(20, { mostPositions: 32 });
    const blocks = pool.allocate(1);
    pool.pin(blocks);
    pool.release(blocks);
    expect(pool.isInTransfer).toBe(true);
    expect(step()).toEqual({ entries: [], ended: [] });
    pool.unpin(blocks);
    expect(granted(step().entries, [task])).toEqual([20]);

    const other = setUp({ numBlocks: 2 });
    const unlucky = other.add(20, { mostPositions: 32 });
    // Owned by nobody whom the scheduler could ask.
    other.pool.allocate(1);
    expect(other.scheduler.plan().ended).toMatchObject([{ task: unlucky, error: { code: 'cache_exhausted' } }]);
  });

  it('lets a prompt in only when there is room for all of it', () => {
    const { add, scheduler, step } = setUp({ numBlocks: 4, maxTokensPerStep: 16 });
    const first = add(40, { mostPositions: 48 });
    const second = add(20, { mostPositions: 30 });
    step();
    // The first has one block and needs three.
    expect([scheduler.numRunning, scheduler.numWaiting]).toEqual([1, 1]);
    step();
    step();
    expect(first.sequence.numCachedTokens).toBe(40);
    scheduler.remove(first);
    step();
    expect(second.sequence.numCachedTokens).toBe(16);
  });

  it('takes blocks of idle sequences first, then of the last in rank, who begins again', () => {
    const { add, newSequence, pool, scheduler, step } = setUp({ numBlocks: 5 });
    const idle = newSequence(16);
    idle.blocks.growTo(16, 0);
    idle.numCachedTokens = 16;
    const first = add(30, { mostPositions: 64 });
    const second = add(31, { mostPositions: 64 });
    while (idle.blocks.numBlocks > 0) step();
    expect(scheduler.numPreemptions).toBe(0);
    while (scheduler.numPreemptions === 0) step();
    // The first one needed a block more than there are.
    expect(first.sequence.blocks.numBlocks).toBe(3);
    expect([scheduler.numRunning, scheduler.numWaiting]).toEqual([1, 1]);
    const numTokens = second.sequence.length;
    scheduler.remove(first);
    first.sequence.releaseBlocks();
    expect(step().entries[0]!.task).toBe(second);
    while (second.sequence.length === numTokens) step();
    expect(second.sequence.numCachedTokens).toBe(numTokens);
    expect(pool.numAvailableBlocks + pool.numOwnedBlocks).toBe(5);
  });

  it('preempts by priority before age', () => {
    const { add, scheduler, step } = setUp({ numBlocks: 4, maxTokensPerStep: 64 });
    const old = add(20, { mostPositions: 60, priority: -1 });
    step();
    const young = add(20, { mostPositions: 60 });
    step();
    for (let i = 0; i < 14; i++) step();
    expect(scheduler.numPreemptions).toBe(1);
    // It waits, and what it had published is still there.
    expect([scheduler.numRunning, old.sequence.numCachedTokens]).toEqual([1, 16]);
    expect(young.sequence.numCachedTokens).toBeGreaterThan(32);
  });

  it('takes what was computed of a prompt from the prefix cache, but for its last token', () => {
    const { add, newSequence, scheduler, step } = setUp();
    const first = add(48);
    while (first.sequence.numCachedTokens < 48) step();
    scheduler.remove(first);
    const prompt = first.sequence.tokenIds.slice(0, 48);
    for (const [length, expected] of [
      [48, 32],
      [49, 48],
      [33, 32],
      [32, 16],
      [16, 0],
    ] as const) {
      const sequence = newSequence(0);
      sequence.append([...prompt, 9999].slice(0, length));
      const task = fakeTask(sequence, { mostPositions: length });
      scheduler.add(task);
      expect(scheduler.plan().entries.map((entry) => entry.start)).toEqual([expected]);
      scheduler.remove(task);
      sequence.releaseBlocks();
    }
  });

  it('computes prompts that begin alike once, also when they come together', () => {
    const { add, newSequence, scheduler, step } = setUp({ maxTokensPerStep: 64 });
    const first = add(50, { mostPositions: 50 });
    const like = (length: number, salt?: string) => {
      const sequence = newSequence(0, salt);
      sequence.append([...first.sequence.tokenIds.slice(0, length), 7000, 7001, 7002]);
      const task = fakeTask(sequence, { mostPositions: sequence.length });
      scheduler.add(task);
      return task;
    };
    const [until40, until10, other] = [like(40), like(10), like(40, 'another tenant')];
    // The second waits for two blocks, the third shares no whole block, and the fourth may share none.
    expect(granted(step().entries, [first, until40, until10, other])).toEqual([32, 0, 13, 19]);
    expect(until40.sequence.numCachedTokens).toBe(0);
    expect(granted(step().entries, [first, until40, other])).toEqual([18, 11, 24]);
    expect(until40.sequence.numCachedTokens).toBe(43);
  });

  it('ends a task whose tokens are all in the prefix cache', () => {
    const { add, newSequence, scheduler, step } = setUp();
    const first = add(32);
    step();
    scheduler.remove(first);
    const sequence = newSequence(0);
    sequence.append(first.sequence.tokenIds.slice(0, 32));
    const task = fakeTask(sequence, { outputFrom: 32 });
    Object.defineProperty(task, 'isDone', { get: () => sequence.numCachedTokens >= 32 });
    scheduler.add(task);
    expect(scheduler.plan()).toEqual({ entries: [], ended: [{ task }] });
  });

  it('runs proposals behind the last token, unless others would lose blocks for them', () => {
    const { add, step } = setUp({ numBlocks: 3 });
    const task = add(14, { mostPositions: 40 });
    step();
    const other = add(14, { mostPositions: 14, outputFrom: 14 });
    step();
    expect(other.sequence.blocks.numBlocks).toBe(1);
    task.proposals = [1, 2, 3];
    expect(step().entries[0]).toMatchObject({ start: 15, numTokens: 1, proposals: [1, 2, 3] });
    expect(task.sequence.blocks.numBlocks).toBe(2);
    task.proposals = Array.from({ length: 15 }, (_, i) => i);
    while (task.sequence.numCachedTokens < 20) step();
    expect(step().entries[0]!.proposals).toEqual([]);
    expect(other.sequence.blocks.numBlocks).toBe(1);
  });

  it('prepares the next step, and knows whether it is still the next', () => {
    const { add, run, scheduler, step } = setUp();
    const a = add(3);
    const b = add(4);
    const { entries } = scheduler.plan();
    const next = scheduler.prepare(entries)!;
    expect(next.map(({ start, numTokens }) => [start, numTokens])).toEqual([
      [3, 1],
      [4, 1],
    ]);
    expect(scheduler.isStillNext(next)).toBe(false);
    run(entries);
    expect(scheduler.isStillNext(next)).toBe(true);
    expect(scheduler.plan().entries).toEqual(next);

    b.proposals = [1];
    expect(scheduler.isStillNext(next)).toBe(false);
    b.proposals = [];
    const late = add(2);
    expect(scheduler.isStillNext(next)).toBe(false);
    expect(scheduler.prepare(next)).toBeUndefined();
    scheduler.remove(late);
    expect(scheduler.isStillNext(next)).toBe(true);
    scheduler.remove(a);
    expect(scheduler.isStillNext(next)).toBe(false);
    expect(granted(step().entries, [a, b])).toEqual([0, 1]);
  });

  it('prepares nothing past the end of a task', () => {
    const { add, run, scheduler, step } = setUp({ numBlocks: 1 });
    const task = add(14, { mostPositions: 16 });
    step();
    const last = scheduler.plan().entries;
    expect(scheduler.prepare(last)).toHaveLength(1);
    run(last);
    expect(task.sequence.length).toBe(16);
    expect(scheduler.prepare(scheduler.plan().entries)).toBeUndefined();
  });

  it('gives back what a task was given and has not used', () => {
    const { add, pool, scheduler } = setUp();
    const task = add(40);
    scheduler.plan();
    expect(pool.numOwnedBlocks).toBe(2);
    scheduler.remove(task);
    expect(pool.numOwnedBlocks).toBe(0);
    expect(scheduler.hasWork).toBe(false);
  });
});
