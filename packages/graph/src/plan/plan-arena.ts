import type { BufferSpec, RowKind } from '@hearth/core';
import type { PlannedBuffer } from './assign-storage.ts';

/** Floats per row that buffer offsets are a multiple of: 64 bytes, a cache line, once multiplied by any row capacity. */
export const bufferAlignment = 16;

export interface ArenaPlan {
  readonly buffers: readonly BufferSpec[];
  readonly arenaWidth: Readonly<Record<RowKind, number>>;
}

/**
 * Gives each buffer a place in its arena, so that buffers that are alive at the same node never overlap.
 *
 * Greedy by size: the widest buffer first, each at the lowest offset that is free through its whole life. For chains like
 * transformers this reaches the lower bound (the most that is alive at one node) or comes within a small buffer of it.
 */
export function planArena(planned: readonly PlannedBuffer[]): ArenaPlan {
  const offsets = new Array<number>(planned.length).fill(0);
  const arenaWidth: Record<RowKind, number> = { tokens: 0, outputs: 0 };
  const widestFirst = planned.map((_, index) => index).sort((a, b) => planned[b]!.width - planned[a]!.width || a - b);
  const placed: number[] = [];
  for (const index of widestFirst) {
    const buffer = planned[index]!;
    const neighbours = placed
      .filter((other) => planned[other]!.rows === buffer.rows && liveTogether(planned[other]!, buffer))
      .sort((a, b) => offsets[a]! - offsets[b]!);
    const size = aligned(buffer.width);
    let offset = 0;
    for (const other of neighbours) {
      if (offset + size <= offsets[other]!) break;
      offset = Math.max(offset, offsets[other]! + aligned(planned[other]!.width));
    }
    offsets[index] = offset;
    arenaWidth[buffer.rows] = Math.max(arenaWidth[buffer.rows], offset + size);
    placed.push(index);
  }
  const buffers = planned.map(({ rows, width }, index) => ({ rows, width, offset: offsets[index]! }));
  return { buffers, arenaWidth };
}

function liveTogether(a: PlannedBuffer, b: PlannedBuffer): boolean {
  return a.firstNode <= b.lastNode && b.firstNode <= a.lastNode;
}

function aligned(width: number): number {
  return Math.ceil(width / bufferAlignment) * bufferAlignment;
}
