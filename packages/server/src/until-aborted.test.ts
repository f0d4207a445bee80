import { describe, expect, it } from 'vitest';
import { untilAborted } from './until-aborted.ts';

describe('untilAborted', () => {
  it('gives what comes', async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(untilAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  });

  it('waits no longer when the signal fires, whatever becomes of the work', async () => {
    const controller = new AbortController();
    let fail = (_: Error) => {};
    const work = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const waiting = untilAborted(work, controller.signal);
    controller.abort('over');
    await expect(waiting).rejects.toBe('over');
    await expect(untilAborted(Promise.resolve(1), controller.signal)).rejects.toBe('over');
    fail(new Error('nobody hears of this'));
  });
});
