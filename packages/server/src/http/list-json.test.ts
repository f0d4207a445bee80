import { describe, expect, it } from 'vitest';
import { listJson } from './list-json.ts';

const { signal } = new AbortController();

describe('listJson', () => {
  it.each([0, 1, 19_999, 20_000, 20_001, 45_000])('is the JSON of a list of %i', async (length) => {
    const items = Int32Array.from({ length }, (_, index) => index);
    const write = (id: number) => ({ id, piece: `"${id}` });
    expect(await listJson(items, write, signal)).toBe(JSON.stringify(Array.from(items, write)));
  });

  it('lets others have their turn', async () => {
    let hadTurn = false;
    const timer = setImmediate(() => {
      hadTurn = true;
    });
    const seen: boolean[] = [];
    await listJson(new Int32Array(50_000), () => seen.push(hadTurn), signal);
    clearImmediate(timer);
    expect([seen.at(0), seen.at(-1)]).toEqual([false, true]);
  });

  it('ends when nobody waits for it any more', async () => {
    const controller = new AbortController();
    const write = (id: number) => {
      if (id === 10) controller.abort(new Error('gone'));
    };
    const items = Int32Array.from({ length: 50_000 }, (_, index) => index);
    await expect(listJson(items, write, controller.signal)).rejects.toThrow('gone');
  });
});
