import type { SpeculationStats } from '@hearth/speculative';
import type { SessionRuntime } from '../session/session-runtime.ts';
import type { StepTotals } from '../step/step-statistics.ts';

/** Numbers of a loaded model. Totals are since it was loaded and only grow. */
export interface ModelStats {
  /** Requests that are in the batch, and that wait for their turn. */
  readonly requests: { readonly numRunning: number; readonly numWaiting: number; readonly numPreemptions: number };
  /** The KV cache. `free + cached + owned` blocks are all there are. */
  readonly cache: {
    readonly blockSize: number;
    readonly bytesPerBlock: number;
    readonly numBytes: number;
    readonly numBlocks: number;
    readonly numFreeBlocks: number;
    /** In use by nobody, and kept for prompts that begin with the same tokens until the room is needed. */
    readonly numCachedBlocks: number;
    /** In use by sessions. */
    readonly numOwnedBlocks: number;
  };
  readonly prefixes: {
    /** Tokens that did not have to be computed because another request had. */
    readonly hitTokens: number;
    /** Cached blocks that gave way to others. */
    readonly numEvictedBlocks: number;
  };
  readonly steps: StepTotals;
  /** Of generations that have ended. */
  readonly speculation: SpeculationStats;
}

export function modelStats(runtime: SessionRuntime): ModelStats {
  const { executable, scheduler, pool, prefixes, blockSize, loop, statistics } = runtime;
  const { bytesPerBlock } = executable.cache;
  return {
    requests: {
      numRunning: scheduler.numRunning,
      numWaiting: scheduler.numWaiting,
      numPreemptions: scheduler.numPreemptions,
    },
    cache: {
      blockSize,
      bytesPerBlock,
      numBytes: pool.numBlocks * bytesPerBlock,
      numBlocks: pool.numBlocks,
      numFreeBlocks: pool.numFreeBlocks,
      numCachedBlocks: pool.numCachedBlocks,
      numOwnedBlocks: pool.numOwnedBlocks,
    },
    prefixes: {
      hitTokens: prefixes?.stats.hitTokens ?? 0,
      numEvictedBlocks: prefixes?.stats.numEvicted ?? 0,
    },
    steps: loop.totals,
    speculation: statistics.speculation,
  };
}
