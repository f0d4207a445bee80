import { hashScript } from '@hearth/engine/test';
import OpenAI from 'openai';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openAiClient } from '../../__fixtures__/openai-client.ts';
import { type TestServer, testServer } from '../../__fixtures__/test-server.ts';

let test: TestServer;
let client: OpenAI;

beforeEach(async () => {
  test = await testServer({ next: hashScript(128) });
  client = openAiClient(test.server);
});

afterEach(() => test.server.dispose());

const request = { model: 'fake', prompt: ['one', 'two'], n: 2, temperature: 0, max_tokens: 6, logprobs: 2 };

describe('the official client', () => {
  it('is answered completions, whole and in a stream', async () => {
    const whole = await client.completions.create(request);
    expect(whole.object).toBe('text_completion');
    expect(whole.choices.map(({ index, finish_reason }) => [index, finish_reason])).toEqual([
      [0, 'length'],
      [1, 'length'],
      [2, 'length'],
      [3, 'length'],
    ]);
    expect(whole.usage).toMatchObject({ prompt_tokens: 8, completion_tokens: 24, total_tokens: 32 });
    const texts = ['', '', '', ''];
    const stream = await client.completions.create({
      ...request,
      stream: true,
      stream_options: { include_usage: true },
    });
    let usage: unknown;
    for await (const chunk of stream) {
      for (const { index, text } of chunk.choices) texts[index] += text;
      usage = chunk.usage ?? usage;
    }
    expect(texts).toEqual(whole.choices.map(({ text }) => text));
    expect(usage).toMatchObject({ prompt_tokens: 8, completion_tokens: 24 });
  });

  it('is told what is wrong, in a stream as well', async () => {
    for (const stream of [false, true]) {
      const refused = client.completions.create({ ...request, logprobs: 21, stream });
      await expect(refused).rejects.toThrow(OpenAI.BadRequestError);
      await expect(refused).rejects.toMatchObject({ status: 400, param: 'logprobs', type: 'invalid_request_error' });
    }
  });
});
