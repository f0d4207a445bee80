import type { Batch, KvCache } from '@hearth/core';

/**
 * A batch of one sequence whose blocks are 0, 1, 2 …
 * @param start tokens of the sequence that are in the cache already
 */
export function singleBatch(
  tokenIds: readonly number[],
  start: number,
  outputRows: readonly number[],
  { blockSize }: KvCache,
  numGroups: number,
): Batch {
  const contextLength = start + tokenIds.length;
  const maxBlocks = Math.ceil(contextLength / blockSize);
  // Every group has the same blocks: their layers are different, so they do not meet.
  const table = { maxBlocks, blocks: Int32Array.from({ length: maxBlocks }, (_, block) => block) };
  return {
    tokenIds: Int32Array.from(tokenIds),
    positions: Int32Array.from(tokenIds, (_, i) => start + i),
    cuSeqlensQ: Int32Array.of(0, tokenIds.length),
    contextLens: Int32Array.of(contextLength),
    blockTables: Array.from({ length: numGroups }, () => table),
    outputRows: Int32Array.from(outputRows),
  };
}
