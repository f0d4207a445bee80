import { afterEach, describe, expect, it } from 'vitest';
import { scriptedServer } from '../../__fixtures__/scripted-server.ts';
import type { AnyJson, TestServer } from '../../__fixtures__/test-server.ts';

const hi = [{ role: 'user', content: 'hi' }];
const call = '<tool_call>\n{"name": "clock", "arguments": {"zone": "UTC"}}\n</tool_call>';
const tools = [
  {
    type: 'function',
    function: { name: 'clock', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
  },
  { type: 'function', function: { name: 'dice' } },
];

let test: TestServer;

async function serve(...script: Parameters<typeof scriptedServer>) {
  const served = await scriptedServer(...script);
  test = served.test;
  return served;
}

afterEach(() => test.server.dispose());

describe('a whole answer', () => {
  it('has the shape of OpenAI and exact usage', async () => {
    const { answer } = await serve('hello');
    const body = await answer({});
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: 'fake',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'hello', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      // <s>, <|im_start|>, "user\nhi", <|im_end|>, "\n", <|im_start|>, "assistant\n"
      usage: { prompt_tokens: 22, completion_tokens: 6, total_tokens: 28, prompt_tokens_details: { cached_tokens: 0 } },
    });
    expect(body.id).toMatch(/^chatcmpl-\w{20,}$/);
    expect(Math.abs(body.created - Date.now() / 1000)).toBeLessThan(60);
    expect((await answer({})).usage.prompt_tokens_details.cached_tokens).toBe(16);
  });

  it('ends at max_tokens, makes none for 0, and takes both names of the limit', async () => {
    const { answer, refusal } = await serve('hello');
    expect((await answer({ max_tokens: 2 })).choices[0]).toMatchObject({
      message: { content: 'he' },
      finish_reason: 'length',
    });
    const none = await answer({ max_completion_tokens: 0 });
    expect(none.choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'length' });
    expect(none.usage.completion_tokens).toBe(0);
    expect((await answer({ max_tokens: 3, max_completion_tokens: 3 })).usage.completion_tokens).toBe(3);
    expect(await refusal({ max_tokens: 3, max_completion_tokens: 4 })).toMatchObject({
      status: 400,
      param: 'max_completion_tokens',
    });
  });

  it('goes on to the end of the context, however many tokens are asked for (B48, B49)', async () => {
    const { answer } = await serve('x'.repeat(3000));
    for (const max_tokens of [null, 1e9]) {
      const { choices, usage } = await answer({ max_tokens });
      expect([choices[0].finish_reason, usage.total_tokens]).toEqual(['length', 2048]);
    }
  });

  it('has n choices in order, of which the prompt counts once', async () => {
    const { answer } = await serve('ok');
    const { choices, usage } = await answer({ n: 3 });
    expect(choices.map((choice: AnyJson) => choice.index)).toEqual([0, 1, 2]);
    expect(usage).toMatchObject({ prompt_tokens: 22, completion_tokens: 9 });
  });

  it('takes parts of text like one text, and keeps control words in them text (B20)', async () => {
    const prompts: string[] = [];
    const { answer } = await serve((prompt) => {
      prompts.push(prompt);
      return 'ok';
    });
    await answer({
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'a' },
            { type: 'text', text: 'b' },
          ],
        },
      ],
    });
    expect(prompts[0]).toBe('user\na\nb\nassistant\n');
    const { usage } = await answer({ messages: [{ role: 'user', content: '<|im_end|>' }] });
    expect(usage.prompt_tokens).toBe(30);
  });

  it('goes on with the last message when asked to, and not while a new turn begins', async () => {
    const { answer, refusal } = await serve('0123456789', 'plain');
    const messages = [...hi, { role: 'assistant', content: '012' }];
    expect((await answer({ messages, continue_final_message: true })).choices[0].message.content).toBe('3456789');
    expect((await answer({ messages })).choices[0].message.content).toBe('0123456789');
    expect(await refusal({ messages, continue_final_message: true, add_generation_prompt: true })).toMatchObject({
      status: 400,
      param: 'continue_final_message',
    });
  });

  it('has log-probabilities of exactly its text, also when a stop text ends it', async () => {
    const { answer } = await serve('añ😀bc');
    const whole = (await answer({ logprobs: true, top_logprobs: 2 })).choices[0];
    expect(whole.logprobs.content.map((entry: AnyJson) => entry.token)).toEqual([
      'a',
      '',
      'ñ',
      '',
      '',
      '',
      '😀',
      'b',
      'c',
    ]);
    expect(Buffer.from(whole.logprobs.content.flatMap((entry: AnyJson) => entry.bytes)).toString()).toBe('añ😀bc');
    expect(whole.logprobs.content[0].top_logprobs).toHaveLength(2);
    const cut = (await answer({ logprobs: true, stop: '😀b' })).choices[0];
    expect(cut.message.content).toBe('añ');
    expect(cut.logprobs.content.map((entry: AnyJson) => entry.token)).toEqual(['a', '', 'ñ']);
  });
});

it('refuses a whole answer of too many log-probabilities, and streams it', async () => {
  const { refusal, events } = await serve('hello');
  const body = { n: 10, logprobs: true, top_logprobs: 20 };
  expect(await refusal(body)).toMatchObject({
    status: 400,
    param: 'logprobs',
    message: expect.stringMatching(/stream/),
  });
  expect((await events(body)).at(-1)).toBe('[DONE]');
  expect(await refusal({ ...body, max_tokens: 10 })).toMatchObject({ status: 200 });
});

describe('a streamed answer', () => {
  it('has the role first and alone, then text, then an empty delta with the reason, then [DONE]', async () => {
    const { events } = await serve('ab');
    const chunks = await events({});
    expect(chunks.at(-1)).toBe('[DONE]');
    const choices = chunks.slice(0, -1).map((chunk) => chunk.choices[0]);
    expect(choices.map(({ delta, finish_reason }) => [delta, finish_reason])).toEqual([
      [{ role: 'assistant' }, null],
      [{ content: 'a' }, null],
      [{ content: 'b' }, null],
      [{}, 'stop'],
    ]);
    expect(new Set(chunks.slice(0, -1).map(({ id, created, object }) => `${id} ${created} ${object}`)).size).toBe(1);
    expect(chunks.every((chunk) => chunk === '[DONE]' || !('usage' in chunk))).toBe(true);
  });

  it('sends usage in a chunk of its own when asked to (B40)', async () => {
    const { events, refusal } = await serve('ab');
    const chunks = await events({ stream_options: { include_usage: true } });
    expect(chunks.at(-2)).toMatchObject({ choices: [], usage: { prompt_tokens: 22, completion_tokens: 3 } });
    expect(chunks.slice(0, -2).every(({ usage }) => usage === null)).toBe(true);
    expect(await refusal({ stream_options: { include_usage: true } })).toMatchObject({
      status: 400,
      param: 'stream_options',
    });
  });

  it('never cuts a character or leaks a stop text (B18, B38)', async () => {
    const { events } = await serve('abc😀dé.\n');
    const textOf = (chunks: AnyJson[]) => chunks.map((chunk) => chunk.choices?.[0].delta.content ?? '').join('');
    expect(textOf(await events({}))).toBe('abc😀dé.\n');
    expect(textOf(await events({ stop: 'c😀d' }))).toBe('ab');
    expect(textOf(await events({ stop: ['c😀X'] }))).toBe('abc😀dé.\n');
  });

  it('has the choices of n as they come', async () => {
    const { events } = await serve('ab');
    const chunks = await events({ n: 2 });
    for (const index of [0, 1]) {
      const own = chunks.filter((chunk) => chunk.choices?.[0].index === index);
      expect(own.map((chunk) => chunk.choices[0].delta)).toEqual([
        { role: 'assistant' },
        { content: 'a' },
        { content: 'b' },
        {},
      ]);
    }
  });

  it('has the log-probabilities of the whole answer, none of them on the first chunk', async () => {
    const { answer, events } = await serve('añb');
    const body = { logprobs: true, top_logprobs: 1 };
    const chunks = await events(body);
    expect(chunks[0].choices[0].logprobs).toBeNull();
    const streamed = chunks.flatMap((chunk) => chunk.choices?.[0].logprobs?.content ?? []);
    expect(streamed).toEqual((await answer(body)).choices[0].logprobs.content);
  });
});

describe('calls of tools', () => {
  it('answers calls with the content before them', async () => {
    const { answer } = await serve(`Let me see.\n${call}`, 'qwenLike');
    const { message, finish_reason } = (await answer({ tools })).choices[0];
    expect(finish_reason).toBe('tool_calls');
    expect(message.content).toBe('Let me see.');
    expect(message.tool_calls).toMatchObject([
      { type: 'function', function: { name: 'clock', arguments: '{"zone": "UTC"}' } },
    ]);
    expect(message.tool_calls[0].id).toMatch(/^call_\w{24}$/);
  });

  it('streams a call with its id and name first, as deltas that join to the same', async () => {
    const { events } = await serve(`${call}\n${call}`, 'qwenLike');
    const chunks = await events({ tools });
    const deltas = chunks.flatMap((chunk) => chunk.choices?.[0].delta.tool_calls ?? []);
    expect(deltas[0]).toMatchObject({ index: 0, type: 'function', function: { name: 'clock', arguments: '' } });
    for (const index of [0, 1]) {
      const own = deltas.filter((delta) => delta.index === index);
      expect(JSON.parse(own.map((delta) => delta.function.arguments).join(''))).toEqual({ zone: 'UTC' });
      expect(own.filter((delta) => 'id' in delta)).toHaveLength(1);
    }
    expect(chunks.at(-2).choices[0]).toMatchObject({ delta: {}, finish_reason: 'tool_calls' });
  });

  it('gives the text of a broken call back as content, streamed and not', async () => {
    const broken = call.slice(0, -20);
    const { answer, events } = await serve(broken, 'qwenLike');
    expect((await answer({ tools })).choices[0]).toMatchObject({ message: { content: broken }, finish_reason: 'stop' });
    const chunks = await events({ tools });
    expect(chunks.map((chunk) => chunk.choices?.[0].delta.content ?? '').join('')).toBe(broken);
    expect(chunks.some((chunk) => chunk.choices?.[0].delta.tool_calls)).toBe(false);
  });

  it('has no call, and shows no tools, with tool_choice none', async () => {
    const prompts: string[] = [];
    const { answer } = await serve((prompt) => {
      prompts.push(prompt);
      return call;
    }, 'qwenLike');
    const { message, finish_reason } = (await answer({ tools, tool_choice: 'none' })).choices[0];
    expect([message.content, message.tool_calls, finish_reason]).toEqual([call, undefined, 'stop']);
    expect(prompts[0]).not.toContain('clock');
  });

  it('renders earlier calls and their results, without content, too (B27)', async () => {
    const prompts: string[] = [];
    const { answer } = await serve((prompt) => {
      prompts.push(prompt);
      return 'ok';
    }, 'qwenLike');
    const tool_calls = [{ id: 'c1', type: 'function', function: { name: 'clock', arguments: '{"zone": 1.0}' } }];
    for (const content of [{ content: null }, {}]) {
      const messages = [
        ...hi,
        { role: 'assistant', ...content, tool_calls },
        { role: 'tool', tool_call_id: 'c1', content: '' },
      ];
      expect((await answer({ messages, tools })).choices[0].message.content).toBe('ok');
      expect(prompts.at(-1)).toContain('"arguments": {"zone": 1.0}}');
    }
  });

  it('refuses tools that the template does not know, and choices that there are none for', async () => {
    const { answer, refusal } = await serve('ok', 'plain');
    expect(await refusal({ tools })).toMatchObject({ status: 400, param: 'tools' });
    expect((await answer({ tools, tool_choice: 'none' })).choices[0].message.content).toBe('ok');
    expect(await refusal({ tool_choice: 'required' })).toMatchObject({ status: 400, param: 'tool_choice' });
    const tool_choice = { type: 'function', function: { name: 'other' } };
    expect(await refusal({ tools, tool_choice })).toMatchObject({ status: 400, param: 'tool_choice' });
  });
});

describe('thoughts', () => {
  it('go to reasoning_content, and are counted', async () => {
    const { answer, events } = await serve('<think>\nhm\n</think>\n\nyes', 'qwenLike');
    const { choices, usage } = await answer({});
    expect(choices[0].message).toMatchObject({ reasoning_content: 'hm', content: 'yes' });
    // From the end of <think> to that of </think>.
    expect(usage.completion_tokens_details.reasoning_tokens).toBe(13);
    const chunks = await events({});
    const join = (name: string) => chunks.map((chunk) => chunk.choices?.[0].delta[name] ?? '').join('');
    expect([join('reasoning_content'), join('content')]).toEqual(['hm', 'yes']);
  });
});
