import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { errorAnswer, scriptedFetch } from '../__fixtures__/scripted-fetch.ts';
import { ServerClient } from '../server/server-client.ts';
import { DraftReader, type Reading } from './draft-reader.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const draftOf = (draft: string) => ({ model: 'small', conversation: 'c', messages: [], draft });
const whole = { superseded: false, prompt_tokens: 12, held_back_tokens: 2 };

function readerOf(answer: Parameters<typeof scriptedFetch>[0]) {
  const readings: Reading[] = [];
  const { fetch, asked } = scriptedFetch(answer);
  const reader = new DraftReader(new ServerClient({ fetch }), (reading) => readings.push(reading));
  const type = (text: string) => reader.typed(() => draftOf(text));
  return { reader, readings, asked, type };
}

describe('DraftReader', () => {
  it('has the draft read once typing has paused, and says how much of it was', async () => {
    const { readings, asked, type } = readerOf(() => Response.json(whole));
    for (const text of ['H', 'He', 'Hel']) {
      type(text);
      await vi.advanceTimersByTimeAsync(199);
    }
    expect(asked).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(asked).toMatchObject([{ path: '/v1/compose', body: { draft: 'Hel', conversation: 'c', revision: 1 } }]);
    expect(readings.at(-1)).toEqual({ state: 'read', readTokens: 10, totalTokens: 12 });
  });

  it('stops what runs when typing goes on, and numbers what it sends', async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const { readings, asked, type } = readerOf((_, signal) => {
      signals.push(signal);
      return new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
    });
    type('a');
    await vi.advanceTimersByTimeAsync(200);
    expect(readings.at(-1)).toEqual({ state: 'reading' });
    type('ab');
    expect(signals[0]!.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(200);
    expect(asked.map(({ body }) => [body.draft, body.revision])).toEqual([
      ['a', 1],
      ['ab', 2],
    ]);
  });

  it('sends nothing after it was cancelled', async () => {
    const { reader, readings, asked, type } = readerOf(() => Response.json(whole));
    type('a');
    reader.cancel();
    await vi.advanceTimersByTimeAsync(1000);
    expect([asked, readings.at(-1)]).toEqual([[], { state: 'idle' }]);
  });

  it('gives up for good where the server does not know how', async () => {
    const { readings, asked, type } = readerOf(() => errorAnswer(404, 'not_found'));
    type('a');
    await vi.advanceTimersByTimeAsync(200);
    type('ab');
    await vi.advanceTimersByTimeAsync(200);
    expect([asked.length, readings.at(-1)]).toEqual([1, { state: 'idle' }]);
  });

  it('says what went wrong, and tries again with the next draft', async () => {
    let status = 400;
    const answer = () => (status === 400 ? errorAnswer(400, 'too_long', 'Too long.') : Response.json(whole));
    const { readings, type } = readerOf(answer);
    type('a');
    await vi.advanceTimersByTimeAsync(200);
    expect(readings.at(-1)).toEqual({ state: 'failed', problem: 'Too long.' });
    status = 200;
    type('b');
    await vi.advanceTimersByTimeAsync(200);
    expect(readings.at(-1)).toMatchObject({ state: 'read' });
  });

  it('says nothing of a draft that something newer has taken the place of', async () => {
    const { readings, type } = readerOf(() => Response.json({ ...whole, superseded: true }));
    type('a');
    await vi.advanceTimersByTimeAsync(200);
    expect(readings.at(-1)).toEqual({ state: 'idle' });
  });
});
