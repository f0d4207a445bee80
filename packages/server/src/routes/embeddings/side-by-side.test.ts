import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sideBySide } from './side-by-side.ts';

describe('sideBySide', () => {
  it('keeps the order, and to its limit', async () => {
    let numRunning = 0;
    let mostRunning = 0;
    const results = await sideBySide([5, 1, 4, 1, 3, 2], 3, async (turns) => {
      mostRunning = Math.max(mostRunning, ++numRunning);
      for (let turn = 0; turn < turns; turn++) await setImmediate();
      numRunning--;
      return turns * 2;
    });
    expect(results).toEqual([10, 2, 8, 2, 6, 4]);
    expect(mostRunning).toBe(3);
    expect(await sideBySide([], 3, async () => 1)).toEqual([]);
  });

  it('begins nothing more after a failure', async () => {
    const begun: number[] = [];
    const work = sideBySide([0, 1, 2, 3, 4, 5], 2, async (item) => {
      begun.push(item);
      await setImmediate();
      if (item === 1) throw new Error('no');
    });
    await expect(work).rejects.toThrow('no');
    await setImmediate();
    await setImmediate();
    expect(begun.length).toBeLessThan(5);
  });
});
