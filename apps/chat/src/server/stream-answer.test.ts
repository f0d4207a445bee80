import { describe, expect, it } from 'vitest';
import { ScriptedStream, scriptedFetch } from '../__fixtures__/scripted-fetch.ts';
import { ServerClient } from './server-client.ts';
import { type AnswerEvent, streamAnswer } from './stream-answer.ts';

const request = {
  model: 'small',
  messages: [{ role: 'user' as const, content: 'Hello' }],
  conversation: 'c1',
  sampling: { temperature: 0 },
};

async function collect(write: (stream: ScriptedStream) => void, signal = new AbortController().signal) {
  const stream = new ScriptedStream(signal);
  const { fetch, asked } = scriptedFetch(() => stream.response);
  write(stream);
  const events: AnswerEvent[] = [];
  for await (const event of streamAnswer(new ServerClient({ fetch }), request, signal)) events.push(event);
  return { events, asked };
}

describe('streamAnswer', () => {
  it('asks as chat completions are asked for, and hands on what comes', async () => {
    const { events, asked } = await collect((stream) => {
      stream.text('Hel');
      stream.text('lo', 'think');
      stream.end('length', [20, 16, 2]);
    });
    expect(events).toEqual([
      { type: 'text', content: 'Hel', reasoning: '' },
      { type: 'text', content: 'lo', reasoning: 'think' },
      { type: 'end', finishReason: 'length' },
      { type: 'usage', usage: { promptTokens: 20, cachedTokens: 16, completionTokens: 2 } },
    ]);
    expect(asked).toMatchObject([
      {
        method: 'POST',
        path: '/v1/chat/completions',
        body: { model: 'small', conversation: 'c1', temperature: 0, stream: true, messages: request.messages },
      },
    ]);
  });

  it('knows of guesses where there were some', async () => {
    const { events } = await collect((stream) => {
      const details = { reasoning_tokens: 0, accepted_prediction_tokens: 6, rejected_prediction_tokens: 2 };
      const usage = { prompt_tokens: 5, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 0 } };
      stream.data(JSON.stringify({ choices: [], usage: { ...usage, completion_tokens_details: details } }));
      stream.data('[DONE]');
      stream.close();
    });
    expect(events).toEqual([
      {
        type: 'usage',
        usage: { promptTokens: 5, cachedTokens: 0, completionTokens: 9, guesses: { made: 8, right: 6 } },
      },
    ]);
  });

  it('throws what the server says amid the stream', async () => {
    const write = (stream: ScriptedStream) => {
      stream.text('Hel');
      stream.data('{"error":{"message":"Out of memory.","code":"x"}}');
    };
    await expect(collect(write)).rejects.toMatchObject({ name: 'ServerError', message: 'Out of memory.', code: 'x' });
  });

  it.each<[what: string, write: (stream: ScriptedStream) => void]>([
    ['ends early', (stream) => stream.close()],
    ['breaks', (stream) => stream.fail(new TypeError('network error'))],
    ['is no JSON', (stream) => stream.data('<html>')],
  ])('does not take for whole what %s', async (_, breakOff) => {
    const write = (stream: ScriptedStream) => {
      stream.text('Hel');
      breakOff(stream);
    };
    await expect(collect(write)).rejects.toThrow('The connection to the server broke off.');
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    const collected = collect((stream) => stream.text('Hel'), controller.signal);
    controller.abort();
    await expect(collected).rejects.toMatchObject({ name: 'AbortError' });
  });
});
