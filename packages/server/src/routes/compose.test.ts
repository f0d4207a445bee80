import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseMetrics, sampleValue } from '../__fixtures__/metrics-text.ts';
import { loadTemplate, scriptedChat } from '../__fixtures__/scripted-chat.ts';
import { type AnyJson, type TestServer, testServer } from '../__fixtures__/test-server.ts';

const limits = { contextLength: 256, cacheTokens: 4096, maxTokensPerStep: 64 };
const system = { role: 'system', content: 'Be brief.' };
/** `<s><|im_start|>user\n` of the fake template. */
const opening = 1 + 1 + 'user\n'.length;
/** `<|im_end|>\n<|im_start|>assistant\n` */
const closing = 1 + 1 + 1 + 'assistant\n'.length;

let test: TestServer;

beforeEach(async () => {
  test = await testServer({ next: scriptedChat('Yes.'), ...limits });
});

afterEach(() => test.server.dispose());

const compose = async (body: object): Promise<AnyJson> =>
  (await test.json('/v1/compose', { conversation: 'c', messages: [], ...body })).body;

const chat = async (content: string, body: object = {}): Promise<AnyJson> => {
  const messages = [{ role: 'user', content }];
  return (await test.json('/v1/chat/completions', { messages, temperature: 0, conversation: 'c', ...body })).body;
};

const cachedOf = (answer: AnyJson) => answer.usage.prompt_tokens_details.cached_tokens;

describe('POST /v1/compose', () => {
  it('computes all but the unfinished word, and says so', async () => {
    const { milliseconds, ...rest } = await compose({ draft: 'Why is the sk', revision: 1 });
    expect(milliseconds).toBeGreaterThan(0);
    expect(rest).toEqual({
      object: 'compose',
      conversation: 'c',
      model: 'fake',
      prompt_tokens: opening + 13,
      computed_tokens: opening + 10,
      cached_tokens: 0,
      held_back_tokens: 3,
      superseded: false,
    });
    expect(await compose({ draft: 'Why is the sky blue? ', revision: 2 })).toMatchObject({
      computed_tokens: 'sky blue?'.length + 1,
      cached_tokens: opening + 10,
      held_back_tokens: 1,
    });
  });

  it('lets the answer begin with what is there, to the token', async () => {
    await compose({ draft: 'Why is the sky blue' });
    const answer = await chat('Why is the sky blue?');
    expect(answer.choices[0].message.content).toBe('Yes.');
    expect(answer.usage.prompt_tokens).toBe(opening + 20 + closing);
    expect(cachedOf(answer)).toBe(opening + 14);
    // What was typed and taken back is of no harm.
    await compose({ draft: 'Why is the sea wet ' });
    expect(cachedOf(await chat('Why is the sun hot?'))).toBe(opening + 12);
  });

  it('goes on with the conversation once it was answered', async () => {
    await compose({ draft: 'Why? ' });
    const first = await chat('Why?');
    const messages = [
      { role: 'user', content: 'Why?' },
      { role: 'assistant', content: first.choices[0].message.content },
    ];
    const next = await compose({ messages, draft: 'Are you sure ' });
    expect(next.cached_tokens).toBeGreaterThanOrEqual(opening + 4);
    const sent = [...messages, { role: 'user', content: 'Are you sure?' }];
    const answer = await chat('', { messages: sent });
    expect(answer.choices[0].message.content).toBe('Yes.');
    expect(cachedOf(answer)).toBe(next.computed_tokens + next.cached_tokens);
  });

  it('gives each of several choices what is there', async () => {
    await compose({ draft: 'Why is the sky blue' });
    const answer = await chat('Why is the sky blue?', { n: 3 });
    expect(answer.choices.map((choice: AnyJson) => choice.message.content)).toEqual(['Yes.', 'Yes.', 'Yes.']);
    expect(cachedOf(answer)).toBe(opening + 14);
  });

  it('streams its usage in a chunk of its own (B40)', async () => {
    await compose({ draft: 'Why is the sky blue' });
    const body = { messages: [{ role: 'user', content: 'Why is the sky blue?' }], conversation: 'c' };
    const stream = { stream: true, stream_options: { include_usage: true } };
    const events = await test.events('/v1/chat/completions', { ...body, ...stream });
    expect(events.at(-1)).toBe('[DONE]');
    expect(events.at(-2)).toMatchObject({
      choices: [],
      usage: { prompt_tokens_details: { cached_tokens: opening + 14 } },
    });
    expect(events.slice(0, -2).every((event) => (event.usage ?? null) === null)).toBe(true);
  });

  it('is of no use to other conversations, salts, and requests that name none', async () => {
    const cached = async (body: object) => cachedOf(await chat('Why is the sky blue?', body));
    await compose({ draft: 'Why is the ', cache_salt: 'x' });
    expect(await cached({})).toBe(0);
    expect(await cached({ cache_salt: 'y' })).toBe(0);
    // Whole blocks of 16, as any prompt that begins alike has them.
    expect(await cached({ cache_salt: 'x', conversation: 'd' })).toBe(16);
    await compose({ draft: 'Why is the ', cache_salt: 'z' });
    expect(await cached({ cache_salt: 'z', conversation: null })).toBe(16);
    expect(await cached({ cache_salt: 'z' })).toBeGreaterThan(16);
  });

  it('reads the beginning that all have in common once', async () => {
    const long = { role: 'system', content: 'Be brief. '.repeat(8) };
    const first = await compose({ conversation: 'a', messages: [long], draft: '' });
    const second = await compose({ conversation: 'b', messages: [long], draft: '' });
    expect(first.cached_tokens).toBe(0);
    // Whole blocks of 16.
    expect(second.computed_tokens).toBe(first.prompt_tokens % 16);
  });

  it('starts anew where the system message changes', async () => {
    await compose({ messages: [system], draft: 'Why is the sky blue ' });
    const other = { role: 'system', content: 'Be long.' };
    expect(await compose({ messages: [other], draft: 'Why is the sky blue ' })).toMatchObject({ cached_tokens: 0 });
    const messages = [system, { role: 'user', content: 'Why is the sky blue?' }];
    const answer = await chat('', { messages });
    expect(answer.choices[0].message.content).toBe('Yes.');
  });

  it('says that a late one is superseded, without any tokens', async () => {
    await compose({ draft: 'Why is the sky ', revision: 7 });
    expect(await compose({ draft: 'Why is the ', revision: 6 })).toMatchObject({
      superseded: true,
      prompt_tokens: 0,
      computed_tokens: 0,
      cached_tokens: 0,
      held_back_tokens: 0,
    });
  });

  it('refuses what a chat refuses', async () => {
    const refused = async (body: object) => {
      const { status, body: answer } = await test.json('/v1/compose', {
        conversation: 'c',
        messages: [],
        draft: 'x',
        ...body,
      });
      return [status, answer.error.param, answer.error.code];
    };
    expect(await refused({ draft: 'x '.repeat(200) })).toEqual([400, null, 'context_length_exceeded']);
    expect(await refused({ draft: 7 })).toEqual([400, 'draft', 'invalid_value']);
    expect(await refused({ draft: undefined })).toEqual([400, 'draft', 'invalid_value']);
    expect(await refused({ conversation: '' })).toEqual([400, 'conversation', 'invalid_value']);
    expect(await refused({ conversation: 'x'.repeat(129) })).toEqual([400, 'conversation', 'invalid_value']);
    expect(await refused({ messages: [{ role: 'user' }] })).toEqual([400, 'messages[0].content', 'invalid_value']);
    expect(await refused({ model: 'other' })).toEqual([404, 'model', 'model_not_found']);
  });

  it('is counted', async () => {
    await compose({ draft: 'Why is the sky ', revision: 2 });
    await compose({ draft: 'Why is the ', revision: 1 });
    const samples = parseMetrics(await (await test.send('/metrics')).text());
    expect(sampleValue(samples, 'hearth_compose_total', { model: 'fake', outcome: 'done' })).toBe(1);
    expect(sampleValue(samples, 'hearth_compose_total', { outcome: 'superseded' })).toBe(1);
    expect(sampleValue(samples, 'hearth_composed_tokens_total', { model: 'fake' })).toBe(opening + 14);
    expect(sampleValue(samples, 'hearth_drafts', { model: 'fake' })).toBe(1);
  });
});

describe('with tools and variables', () => {
  it('begins as the chat will', async () => {
    await test.server.dispose();
    test = await testServer({ next: scriptedChat('Yes.'), ...limits, chatTemplate: await loadTemplate('qwenLike') });
    const tools = [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }];
    const shared = { tools, chat_template_kwargs: { enable_thinking: true } };
    const composed = await compose({ ...shared, draft: 'Why is the sky blue ' });
    expect(cachedOf(await chat('Why is the sky blue?', shared))).toBe(composed.computed_tokens);
  });
});
