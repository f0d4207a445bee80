import { type Batch, NumericError, type WriteCacheOp } from '@hearth/core';
import { type ReferenceKvCache, sequenceBlocks } from '../kv-cache.ts';
import type { Rows } from '../rows.ts';

/**
 * cache[position of t] = k[t], v[t], rounded to the cache type
 *
 * k, v [T, numKvHeads · headDim]
 * @throws NumericError when a value does not fit the type
 */
export function writeCache(cache: ReferenceKvCache, op: WriteCacheOp, batch: Batch, k: Rows, v: Rows): void {
  const { group, headDim } = cache.layerSpec(op.layer);
  for (let s = 0; s + 1 < batch.cuSeqlensQ.length; s++) {
    const table = sequenceBlocks(batch.blockTables[group]!, s);
    for (let t = batch.cuSeqlensQ[s]!; t < batch.cuSeqlensQ[s + 1]!; t++) {
      const position = batch.positions[t]!;
      for (const [which, rows] of [
        ['k', k],
        ['v', v],
      ] as const) {
        const start = rows.offset + t * rows.stride;
        const row = rows.data.subarray(start, start + rows.width);
        const misfit = cache.write(op.layer, which, cache.slotOf(table, position), row);
        if (misfit !== null) {
          throw new NumericError(
            op.name,
            `${op.name}: ${row[misfit]} (${which} at position ${position}, head ${Math.floor(misfit / headDim)}) does not fit the ${cache.dtype} cache. Use the cache type f32.`,
          );
        }
      }
    }
  }
}
