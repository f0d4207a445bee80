import type { KvCache } from '@hearth/core';
import type { BlockPool } from './block-pool.ts';

/**
 * Zeroes and copies the blocks that were handed out since the last call. Run it to its end before each step: only then do
 * the blocks hold what their tables promise. No step may run meanwhile.
 *
 * When it rejects, the backend is gone or broken, and what the cache holds is unknown.
 */
export async function prepareBlocks(cache: KvCache, pool: BlockPool): Promise<void> {
  const preparations = pool.takePreparations();
  const { zero, copyFrom, copyTo } = preparations;
  try {
    if (zero.length > 0) await cache.zeroBlocks(zero);
    if (copyTo.length > 0) await cache.copyBlocks(copyFrom, copyTo);
  } finally {
    pool.finishPreparations(preparations);
  }
}
