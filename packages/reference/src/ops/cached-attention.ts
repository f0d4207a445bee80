import type { AttentionOp, Batch } from '@hearth/core';
import type { EventLoopTurn } from '../event-loop-turn.ts';
import { type ReferenceKvCache, sequenceBlocks } from '../kv-cache.ts';
import type { Rows } from '../rows.ts';
import { attendHead } from './attention.ts';

/**
 * Causal grouped-query attention of the step's tokens over the cache: query head h reads KV head floor(h / (numHeads /
 * numKvHeads)), a token at position p sees positions max(0, p − window + 1) … p.
 *
 * q, out [T, numHeads · headDim]. Keys and values come from the cache alone, also those of the same step.
 */
export async function cachedAttention(
  cache: ReferenceKvCache,
  op: AttentionOp,
  batch: Batch,
  q: Rows,
  out: Rows,
  turn: EventLoopTurn,
): Promise<void> {
  const { numKvHeads, headDim, group } = cache.layerSpec(op.layer);
  const headsPerKvHead = op.numHeads / numKvHeads;
  const scaling = {
    scale: Math.fround(op.scale),
    softcap: op.softcap === null ? null : Math.fround(op.softcap),
  };
  for (let s = 0; s + 1 < batch.cuSeqlensQ.length; s++) {
    const table = sequenceBlocks(batch.blockTables[group]!, s);
    const firstToken = batch.cuSeqlensQ[s]!;
    const contextLen = batch.contextLens[s]!;
    const firstVisible = firstVisiblePosition(batch.positions[firstToken]!, op.window);
    const keys = new Float32Array(contextLen * headDim);
    const values = new Float32Array(contextLen * headDim);
    for (let kvHead = 0; kvHead < numKvHeads; kvHead++) {
      cache.readHead(op.layer, 'k', kvHead, table, firstVisible, contextLen, keys);
      cache.readHead(op.layer, 'v', kvHead, table, firstVisible, contextLen, values);
      for (let t = firstToken; t < batch.cuSeqlensQ[s + 1]!; t++) {
        if (turn.isOver) await turn.pass();
        const position = batch.positions[t]!;
        const first = firstVisiblePosition(position, op.window);
        for (let head = kvHead * headsPerKvHead; head < (kvHead + 1) * headsPerKvHead; head++) {
          const query = headOf(q, t, head, headDim);
          attendHead(query, keys, values, first, position, scaling, headOf(out, t, head, headDim));
        }
      }
    }
  }
}

function firstVisiblePosition(position: number, window: number | null): number {
  return window === null ? 0 : Math.max(0, position - window + 1);
}

function headOf({ data, offset, stride }: Rows, row: number, head: number, headDim: number): Float32Array {
  const start = offset + row * stride + head * headDim;
  return data.subarray(start, start + headDim);
}
