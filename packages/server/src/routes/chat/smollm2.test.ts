import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAiClient } from '../../__fixtures__/openai-client.ts';
import { smolLm2Path, smolLm2Server } from '../../__fixtures__/smollm2-server.ts';
import type { AnyJson } from '../../__fixtures__/test-server.ts';
import type { HearthServer } from '../../index.ts';

const question = { model: 'smollm2', messages: [{ role: 'user' as const, content: 'What is the capital of France?' }] };

describe.skipIf(!smolLm2Path)('SmolLM2-135M-Instruct, answering the official client', () => {
  let server: HearthServer;
  let chat: OpenAI.Chat;

  beforeAll(async () => {
    server = await smolLm2Server();
    ({ chat } = openAiClient(server));
  });

  afterAll(() => server.dispose());

  async function joined(body: Omit<OpenAI.ChatCompletionCreateParamsStreaming, 'stream'>): Promise<string> {
    let text = '';
    for await (const { choices } of await chat.completions.create({ ...body, stream: true })) {
      text += choices[0]?.delta.content ?? '';
    }
    return text;
  }

  it('says the same streamed, and the same again for a seed', async () => {
    const body = { ...question, max_tokens: 24, temperature: 1, seed: 7 };
    const { choices } = await chat.completions.create(body);
    expect(await joined(body)).toBe(choices[0]!.message.content);
    const other = await chat.completions.create({ ...body, seed: 8 });
    expect(other.choices[0]!.message.content).not.toBe(choices[0]!.message.content);
  });

  it('says the same when the question was read while it was written, with a typo', async () => {
    const content = 'Tell me in a few words: what is the capital of France, and what is it known for?';
    const messages = [
      { role: 'system' as const, content: 'You know a lot.' },
      { role: 'user' as const, content },
    ];
    const body = { ...question, messages, temperature: 0, max_tokens: 24 };
    const compose = async (draft: string): Promise<AnyJson> => {
      const headers = { 'Content-Type': 'application/json' };
      const sent = JSON.stringify({ conversation: 'c', cache_salt: 'typed', messages: messages.slice(0, 1), draft });
      return (
        await server.fetch(new Request('http://localhost/v1/compose', { method: 'POST', headers, body: sent }))
      ).json();
    };
    await compose('Tell me in a few wrods: what is ');
    const { prompt_tokens, held_back_tokens } = await compose(content);
    const typed = { ...body, conversation: 'c', cache_salt: 'typed' };
    const { choices, usage } = await chat.completions.create(typed);
    expect(usage!.prompt_tokens_details!.cached_tokens).toBe(prompt_tokens - held_back_tokens);
    expect(held_back_tokens).toBeLessThan(4);
    expect(choices).toEqual((await chat.completions.create({ ...body, ...{ cache_salt: 'fresh' } })).choices);
  });

  it('ends before a stop text', async () => {
    const body = { ...question, temperature: 0, max_tokens: 24 };
    const whole = (await chat.completions.create(body)).choices[0]!.message.content!;
    const stop = whole.slice(15, 25);
    const before = whole.slice(0, whole.indexOf(stop));
    const { choices } = await chat.completions.create({ ...body, stop });
    expect(choices[0]).toMatchObject({ message: { content: before }, finish_reason: 'stop' });
    expect(await joined({ ...body, stop })).toBe(before);
  });

  it('has log-probabilities of exactly its text, the best token first', async () => {
    const body = { ...question, temperature: 0, max_tokens: 12, logprobs: true, top_logprobs: 2 };
    const { message, logprobs } = (await chat.completions.create(body)).choices[0]!;
    const entries = logprobs!.content!;
    expect(entries.map(({ token }) => token).join('')).toBe(message.content);
    expect(Buffer.from(entries.flatMap(({ bytes }) => bytes!)).toString()).toBe(message.content);
    for (const { logprob, top_logprobs } of entries) expect(top_logprobs[0]!.logprob).toBe(logprob);
  });

  it('obeys a schema, at temperature 1, many at once', async () => {
    const schema = {
      type: 'object',
      properties: {
        city: { type: 'string', maxLength: 20 },
        inhabitants: { type: 'integer', minimum: 0, maximum: 1e9 },
      },
      required: ['city', 'inhabitants'],
      additionalProperties: false,
    };
    const { choices } = await chat.completions.create({
      ...question,
      n: 4,
      temperature: 1,
      seed: 1,
      max_tokens: 80,
      response_format: { type: 'json_schema', json_schema: { name: 'city', schema } },
    });
    for (const { message, finish_reason } of choices) {
      expect(finish_reason).toBe('stop');
      const { city, inhabitants } = JSON.parse(message.content!);
      expect(typeof city).toBe('string');
      expect(Number.isInteger(inhabitants)).toBe(true);
    }
  });
});
