import type { ServerSample } from '../server/read-metrics.ts';

/** One moment of the statistics. */
export interface RatePoint {
  readonly at: number;
  /** Tokens of answers per second. */
  readonly decode: number;
  /** Tokens of prompts per second. */
  readonly prefill: number;
  readonly running: number;
  readonly waiting: number;
  /** Parts of the cache, from 0 to 1. */
  readonly cacheUsed: number;
  readonly cacheKept: number;
}

/** What happened between two samples; undefined when a model was unloaded meanwhile, whose counters went with it. */
export function rateBetween(before: ServerSample, after: ServerSample): RatePoint | undefined {
  const seconds = (after.at - before.at) / 1000;
  const decoded = after.decodeTokens - before.decodeTokens;
  const prefilled = after.prefillTokens - before.prefillTokens;
  if (seconds <= 0 || decoded < 0 || prefilled < 0) return undefined;
  const numBlocks = after.usedBlocks + after.cachedBlocks + after.freeBlocks;
  return {
    at: after.at,
    decode: decoded / seconds,
    prefill: prefilled / seconds,
    running: after.numRunning,
    waiting: after.numWaiting,
    cacheUsed: numBlocks > 0 ? after.usedBlocks / numBlocks : 0,
    cacheKept: numBlocks > 0 ? after.cachedBlocks / numBlocks : 0,
  };
}
