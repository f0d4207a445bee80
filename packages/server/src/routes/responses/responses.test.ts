import { zodTextFormat } from 'openai/helpers/zod';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openAiClient } from '../../__fixtures__/openai-client.ts';
import { scriptedModel, type templates } from '../../__fixtures__/scripted-chat.ts';
import { type AnyJson, parseEvents, type TestServer, testServer } from '../../__fixtures__/test-server.ts';

const path = '/v1/responses';
const call = '<tool_call>\n{"name": "clock", "arguments": {"zone": "UTC"}}\n</tool_call>';
const tools = [
  {
    type: 'function' as const,
    name: 'clock',
    parameters: { type: 'object', properties: { zone: { type: 'string' } } },
    strict: false,
  },
];

let test: TestServer;

async function serve(reply: string | ((prompt: string) => string), template?: keyof typeof templates) {
  test = await testServer(await scriptedModel(reply, template));
  return {
    client: openAiClient(test.server),
    answer: async (body: object) => (await test.json(path, { input: 'hi', temperature: 0, ...body })).body,
    events: (body: object) => test.events(path, { input: 'hi', temperature: 0, stream: true, ...body }),
    refusal: async (body: object) => {
      const { status, body: answer } = await test.json(path, { input: 'hi', ...body });
      return { status, param: answer.error?.param };
    },
  };
}

afterEach(() => test.server.dispose());

describe('a whole answer', () => {
  it('is a message in an answer, in the words of the official client', async () => {
    const { client } = await serve('hello');
    const response = await client.responses.create({
      model: 'fake',
      input: 'hi',
      temperature: 0,
      metadata: { a: 'b' },
    });
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      output_text: 'hello',
      store: false,
      error: null,
      metadata: { a: 'b' },
      usage: { input_tokens: 22, output_tokens: 6, total_tokens: 28, output_tokens_details: { reasoning_tokens: 0 } },
    });
    expect(response.id).toMatch(/^resp_/);
    expect(response.output[0]).toMatchObject({ type: 'message', role: 'assistant', status: 'completed' });
    expect((response.output[0] as AnyJson).id).toMatch(/^msg_/);
  });

  it('is incomplete at the limit', async () => {
    const { answer } = await serve('hello');
    expect(await answer({ max_output_tokens: 2 })).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      output: [{ status: 'incomplete', content: [{ type: 'output_text', text: 'he', annotations: [] }] }],
    });
    expect((await answer({ max_output_tokens: 0 })).output).toMatchObject([
      { type: 'message', content: [{ text: '' }] },
    ]);
  });

  it('has thoughts, text and calls as items of their own', async () => {
    const { answer } = await serve(`<think>\nhm\n</think>\n\nLet me see.\n${call}`, 'qwenLike');
    const { output, usage } = await answer({ tools });
    expect(output).toMatchObject([
      { type: 'reasoning', content: [{ type: 'reasoning_text', text: 'hm' }], summary: [] },
      { type: 'message', content: [{ type: 'output_text', text: 'Let me see.' }] },
      { type: 'function_call', name: 'clock', arguments: '{"zone": "UTC"}', status: 'completed' },
    ]);
    expect(output[0].id).toMatch(/^rs_/);
    expect(output[2].id).toMatch(/^fc_/);
    expect(output[2].call_id).toMatch(/^call_/);
    expect(usage.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
  });

  it('takes the items of earlier answers back', async () => {
    const prompts: string[] = [];
    const { answer } = await serve((prompt) => {
      prompts.push(prompt);
      return 'noon';
    }, 'qwenLike');
    const input = [
      { role: 'user', content: [{ type: 'input_text', text: 'time?' }] },
      { type: 'reasoning', id: 'rs_1', summary: [] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Wait.', annotations: [] }] },
      { type: 'function_call', call_id: 'call_1', name: 'clock', arguments: '{"zone": "UTC"}' },
      { type: 'function_call_output', call_id: 'call_1', output: '12:00' },
    ];
    const { output } = await answer({ input, tools, instructions: 'Be brief.' });
    expect(output[0].content[0].text).toBe('noon');
    expect(prompts[0]).toContain(
      'system\nBe brief.\nuser\ntime?\nassistant\nWait.<tool_call>\n{"name": "clock", "arguments": {"zone": "UTC"}}\n</tool_call>\ntool\n12:00\n',
    );
    expect(prompts[0]).toContain('{"type": "function", "function": {"name": "clock"');
  });

  it('has log-probabilities when they are to be included', async () => {
    const { answer } = await serve('ab');
    const { output } = await answer({ include: ['message.output_text.logprobs'], top_logprobs: 1 });
    expect(output[0].content[0].logprobs.map((entry: AnyJson) => [entry.token, entry.top_logprobs.length])).toEqual([
      ['a', 1],
      ['b', 1],
    ]);
    expect((await answer({})).output[0].content[0].logprobs).toEqual([]);
  });
});

describe('a streamed answer', () => {
  it('tells of each item in order, with growing numbers', async () => {
    const { events } = await serve(`<think>a</think>b\n${call}`, 'qwenLike');
    const all = await events({ tools });
    expect(all.map(({ sequence_number }) => sequence_number)).toEqual([...all.keys()]);
    expect(
      all.map(({ type }) => type.replace('response.', '')).filter((type, at, types) => type !== types[at - 1]),
    ).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'content_part.added',
      'reasoning_text.delta',
      'reasoning_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'output_item.added',
      'function_call_arguments.delta',
      'function_call_arguments.done',
      'output_item.done',
      'completed',
    ]);
    const { response } = all.at(-1);
    for (const event of all) {
      if (event.item_id !== undefined) expect(event.item_id).toBe(response.output[event.output_index].id);
      if (event.response) expect(event.response.id).toBe(response.id);
    }
    expect(all.findLast(({ type }) => type === 'response.output_item.done').item).toEqual(response.output[2]);
  });

  it('comes to the whole answer in the official client', async () => {
    const { client } = await serve(`Well.\n${call}`, 'qwenLike');
    const body = { model: 'fake', input: 'hi', temperature: 0, tools };
    const stream = client.responses.stream(body);
    let text = '';
    stream.on('response.output_text.delta', ({ delta }) => (text += delta));
    const final = await stream.finalResponse();
    expect(text).toBe('Well.');
    const whole = await client.responses.create(body);
    const bare = ({ output }: AnyJson) =>
      output.map(({ id, call_id, parsed_arguments, ...item }: AnyJson) => ({
        ...item,
        content: item.content?.[0].text,
      }));
    expect(bare(final)).toEqual(bare(whole));
    expect(final.usage).toMatchObject({ output_tokens: whole.usage!.output_tokens });
  });

  it('is parsed by the schema that the official client has sent', async () => {
    const { client } = await serve('');
    const Mood = z.object({ mood: z.enum(['up', 'down']) });
    const body = { model: 'fake', input: 'hi', temperature: 0, text: { format: zodTextFormat(Mood, 'mood') } };
    const { output_parsed } = await client.responses.parse(body);
    expect(Mood.safeParse(output_parsed).success).toBe(true);
    const final = await client.responses.stream(body).finalResponse();
    expect(final.output_parsed).toEqual(output_parsed);
  });

  it('fails in an event when the work fails', async () => {
    await serve('x'.repeat(1500));
    const response = await test.send(path, { input: 'hi', stream: true });
    await test.server.dispose();
    const all = parseEvents(await response.text());
    expect(all.at(-1)).toMatchObject({
      type: 'response.failed',
      sequence_number: all.length - 1,
      response: { id: all[0].response.id, status: 'failed', error: { code: 'shutting_down' } },
    });
  });

  it('ends with response.incomplete at the limit', async () => {
    const { events } = await serve('hello');
    const all = await events({ max_output_tokens: 2 });
    expect(all.at(-1)).toMatchObject({ type: 'response.incomplete', response: { status: 'incomplete' } });
  });
});

describe('what is refused', () => {
  it.each([
    ['input', { input: null }],
    ['input', { input: [] }],
    ['input[0]', { input: [null] }],
    ['input[0].type', { input: [{ type: 'item_reference', id: 'x' }] }],
    ['input[0].content', { input: [{ role: 'user' }] }],
    ['input[0].content[0].type', { input: [{ role: 'user', content: [{ type: 'input_image' }] }] }],
    [
      'input[1].call_id',
      {
        input: [
          { role: 'user', content: 'x' },
          { type: 'function_call_output', output: '' },
        ],
      },
    ],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    ['tool_choice', { tool_choice: 'required' }],
    ['tool_choice', { tools, tool_choice: { type: 'function', name: 'other' } }],
    ['previous_response_id', { previous_response_id: 'resp_1' }],
    ['conversation', { conversation: 'conv_1' }],
    ['background', { background: true }],
    ['truncation', { truncation: 'auto' }],
    ['max_tokens', { max_tokens: 5 }],
    ['response_format', { response_format: { type: 'json_object' } }],
    ['reasoning_effort', { reasoning_effort: 'high' }],
    ['include[0]', { include: ['reasoning.encrypted_content'] }],
    ['text.format.type', { text: { format: { type: 'xml' } } }],
    ['text.verbosity', { text: { verbosity: 'low' } }],
    ['reasoning.effort', { reasoning: { effort: 'high' } }],
    ['max_output_tokens', { max_output_tokens: -1 }],
  ])('names %s', async (param, body) => {
    const { refusal } = await serve('ok', 'plain');
    for (const stream of [false, true])
      expect(await refusal({ ...body, stream })).toMatchObject({ status: 400, param });
  });

  it('is nothing that only says what happens anyway', async () => {
    const { answer } = await serve('ok');
    const body = {
      background: false,
      truncation: 'disabled',
      store: true,
      previous_response_id: null,
      text: { verbosity: 'medium' },
    };
    expect((await answer({ ...body, include: [], service_tier: 'auto' })).status).toBe('completed');
  });
});
