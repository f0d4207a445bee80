import type { LoadWeightsOptions } from '@hearth/engine';
import { type Command, Option } from 'commander';
import { parseWhole } from './parse-number.ts';
import { parseSize } from './parse-size.ts';

/** The values of `addCacheOptions`, as commander gives them. */
export interface CacheFlags {
  cacheTokens?: number | undefined;
  /** Bytes. */
  cacheMemory?: number | undefined;
  prefixCache: boolean;
}

/** Flags that say how large the KV cache is, and what it keeps. None of them changes an answer. */
export function addCacheOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--cache-tokens <n>', 'positions that the KV cache holds (default: one context)')
        .argParser((text) => parseWhole(text, '--cache-tokens', 1))
        .conflicts('cacheMemory'),
    )
    .option('--cache-memory <size>', 'memory for the KV cache instead, such as 512MB or 2GiB', (text) =>
      parseSize(text, '--cache-memory'),
    )
    .option('--no-prefix-cache', 'compute every prompt from its start, whatever is in the cache');
}

/** What a position takes in the cache of each of two models that share it. */
export interface SharedCache {
  readonly bytesPerToken: number;
  readonly draftBytesPerToken: number;
  /** Positions that either holds unless the flags say otherwise. */
  readonly defaultTokens: number;
}

type CacheOptions = Pick<LoadWeightsOptions, 'cacheTokens' | 'cacheBytes' | 'prefixCache'>;

/** For a model that has the cache to itself. */
export function cacheOptions({ cacheTokens, cacheMemory, prefixCache }: CacheFlags): CacheOptions {
  return { cacheTokens, cacheBytes: cacheMemory, prefixCache };
}

/**
 * For a model and its draft model. Both hold the same number of tokens: what one of them has lost is of no use in the other.
 * So a position costs what it takes in both, and the memory is the sum of both caches.
 */
export function dividedCacheOptions(
  { cacheTokens, cacheMemory, prefixCache }: CacheFlags,
  { bytesPerToken, draftBytesPerToken, defaultTokens }: SharedCache,
): { readonly model: CacheOptions; readonly draft: CacheOptions } {
  if (cacheMemory === undefined) {
    const both = { cacheTokens: cacheTokens ?? defaultTokens, prefixCache };
    return { model: both, draft: both };
  }
  const numTokens = Math.floor(cacheMemory / (bytesPerToken + draftBytesPerToken));
  return {
    model: { cacheBytes: numTokens * bytesPerToken, prefixCache },
    draft: { cacheBytes: numTokens * draftBytesPerToken, prefixCache },
  };
}
