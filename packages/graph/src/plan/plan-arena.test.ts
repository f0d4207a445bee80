import { describe, expect, it } from 'vitest';
import type { PlannedBuffer } from './assign-storage.ts';
import { planArena } from './plan-arena.ts';

function buffer(width: number, firstNode: number, lastNode: number): PlannedBuffer {
  return { rows: 'tokens', width, firstNode, lastNode };
}

/** The most columns that are alive at one node: no plan can do with fewer. */
function lowerBound(buffers: readonly PlannedBuffer[]): number {
  const last = Math.max(...buffers.map(({ lastNode }) => lastNode));
  return Math.max(
    ...Array.from({ length: last + 1 }, (_, node) =>
      buffers
        .filter(({ firstNode, lastNode }) => firstNode <= node && node <= lastNode)
        .reduce((sum, { width }) => sum + Math.ceil(width / 16) * 16, 0),
    ),
  );
}

describe('planArena', () => {
  it('lets buffers share columns when their lives do not overlap', () => {
    const { buffers, arenaWidth } = planArena([buffer(32, 0, 1), buffer(32, 2, 3), buffer(16, 1, 2)]);
    expect(buffers.map(({ offset }) => offset)).toEqual([0, 0, 32]);
    expect(arenaWidth).toEqual({ tokens: 48, outputs: 0 });
  });

  it('keeps buffers apart that meet at one node: an op reads one while it writes the other', () => {
    const { buffers } = planArena([buffer(16, 0, 1), buffer(16, 1, 2)]);
    expect(buffers[0]!.offset).not.toBe(buffers[1]!.offset);
  });

  it('keeps the two kinds of rows in arenas of their own', () => {
    const { buffers, arenaWidth } = planArena([buffer(16, 0, 5), { ...buffer(48, 0, 5), rows: 'outputs' }]);
    expect(buffers.map(({ offset }) => offset)).toEqual([0, 0]);
    expect(arenaWidth).toEqual({ tokens: 16, outputs: 48 });
  });

  it.each([1, 7, 15, 16, 17, 33, 127])('starts every buffer at a multiple of 16 (width %i)', (width) => {
    const { buffers } = planArena([buffer(width, 0, 9), buffer(width + 1, 0, 9), buffer(3, 0, 9)]);
    for (const { offset } of buffers) expect(offset % 16).toBe(0);
    expect(new Set(buffers.map(({ offset }) => offset)).size).toBe(3);
  });

  it('never lets two live buffers overlap, and stays near the lower bound', () => {
    let state = 12345;
    const random = (below: number) => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return Math.floor((state / 2 ** 32) * below);
    };
    for (let round = 0; round < 200; round++) {
      const planned = Array.from({ length: 2 + random(20) }, () => {
        const first = random(30);
        return buffer(1 + random(200), first, first + random(6));
      });
      const { buffers, arenaWidth } = planArena(planned);
      for (let a = 0; a < planned.length; a++) {
        for (let b = 0; b < a; b++) {
          const [x, y] = [planned[a]!, planned[b]!];
          if (x.firstNode > y.lastNode || y.firstNode > x.lastNode) continue;
          const [at, bt] = [buffers[a]!.offset, buffers[b]!.offset];
          expect(at + x.width <= bt || bt + y.width <= at).toBe(true);
        }
      }
      // Greedy by size is not optimal; on random intervals it stays well within a factor of two.
      expect(arenaWidth.tokens).toBeLessThanOrEqual(2 * lowerBound(planned));
    }
  });
});
