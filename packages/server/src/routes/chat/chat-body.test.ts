import { afterEach, describe, expect, it } from 'vitest';
import { scriptedServer } from '../../__fixtures__/scripted-server.ts';
import type { TestServer } from '../../__fixtures__/test-server.ts';

const hi = [{ role: 'user', content: 'hi' }];
let test: TestServer;

async function serve(...script: Parameters<typeof scriptedServer>) {
  const served = await scriptedServer(...script);
  test = served.test;
  return served;
}

afterEach(() => test.server.dispose());

describe('what is refused', () => {
  it.each([
    ['messages', undefined],
    ['messages', null],
    ['messages', 'hi'],
    ['messages', []],
    ['messages[0]', [null]],
    ['messages[0]', [42]],
    ['messages[0].role', [{ content: 'x' }]],
    ['messages[0].role', [{ role: 7, content: 'x' }]],
    ['messages[0].content', [{ role: 'user' }]],
    ['messages[0].content', [{ role: 'user', content: 5 }]],
    ['messages[0].content[0]', [{ role: 'user', content: [null] }]],
    ['messages[0].content[1].type', [{ role: 'user', content: [{ type: 'text', text: '' }, { type: 'image_url' }] }]],
    ['messages[1].content', [...hi, { role: 'assistant', content: null }]],
    [
      'messages[0].tool_calls[0].function.arguments',
      [{ role: 'assistant', tool_calls: [{ function: { name: 'x', arguments: 1 } }] }],
    ],
  ])('names %s for %j (B45)', async (param, messages) => {
    const { refusal } = await serve('ok');
    for (const stream of [false, true])
      expect(await refusal({ messages, stream })).toMatchObject({ status: 400, param });
  });

  it.each([
    ['model', { model: 3 }],
    ['max_tokens', { max_tokens: '5' }],
    ['max_tokens', { max_tokens: -1 }],
    ['max_tokens', { max_tokens: 2.5 }],
    ['stop', { stop: 5 }],
    ['stop[0]', { stop: [null] }],
    ['stream', { stream: 'yes' }],
    ['tools', { tools: {} }],
    ['tools[0].type', { tools: [{ type: 'web_search' }] }],
    ['n', { n: 0 }],
    ['n', { n: 65 }],
    ['seed', { seed: 0.5 }],
    ['top_logprobs', { top_logprobs: 2 }],
    ['top_logprobs', { logprobs: true, top_logprobs: 21 }],
    ['response_format.type', { response_format: { type: 'xml' } }],
    ['response_format.json_schema.schema', { response_format: { type: 'json_schema', json_schema: { name: 'x' } } }],
    ['structured_outputs', { structured_outputs: {} }],
    ['audio', { audio: { voice: 'x' } }],
    ['modalities', { modalities: ['audio'] }],
    ['guided_json', { guided_json: {} }],
    ['repeat_penalty', { repeat_penalty: 1.1 }],
    ['do_sample', { do_sample: false }],
    ['stop_sequences', { stop_sequences: ['x'] }],
    ['system', { system: 'Be brief.' }],
    ['thinking', { thinking: { type: 'disabled' } }],
    ['max_output_tokens', { max_output_tokens: 5 }],
    ['stream_options.continuous_usage_stats', { stream: true, stream_options: { continuous_usage_stats: true } }],
    ['messages[0].prefix', { messages: [{ role: 'assistant', content: 'Sure', prefix: true }] }],
    ['chat_template_kwargs.tools', { chat_template_kwargs: { tools: [] } }],
  ])('names %s for %j (B46, B49)', async (param, body) => {
    const { refusal } = await serve('ok');
    expect(await refusal(body)).toMatchObject({ status: 400, param, message: expect.stringContaining(param) });
  });

  it('takes null for absent, and neutral values of what is not supported', async () => {
    const { answer } = await serve('ok');
    const names = [
      'model',
      'max_tokens',
      'n',
      'stop',
      'stream',
      'tools',
      'tool_choice',
      'response_format',
      'audio',
      'logprobs',
      'stream_options',
    ];
    const body = {
      ...Object.fromEntries(names.map((name) => [name, null])),
      modalities: ['text'],
      repeat_penalty: 1,
      do_sample: true,
      n_predict: -1,
    };
    expect(
      (await answer({ ...body, user: 'me', metadata: {}, store: true, anything: 1 })).choices[0].message.content,
    ).toBe('ok');
  });

  it('is the refusal of the template, before a stream begins (B26)', async () => {
    const { refusal } = await serve('ok', 'plain');
    for (const stream of [false, true]) {
      const messages = [{ role: 'tool', content: 'x' }];
      expect(await refusal({ messages, stream })).toMatchObject({
        status: 400,
        param: 'messages',
        message: expect.stringContaining('Roles must be system, user and assistant'),
      });
    }
  });

  it('is a role that the template leaves out, while others pass', async () => {
    const { answer } = await serve('ok');
    expect((await answer({ messages: [{ role: 'narrator', content: 'x' }] })).choices[0].message.content).toBe('ok');
  });

  it('is a prompt that does not fit, with both numbers (B48)', async () => {
    const { refusal } = await serve('ok');
    for (const stream of [false, true]) {
      const { status, message } = await refusal({ messages: [{ role: 'user', content: 'x'.repeat(2100) }], stream });
      expect(status).toBe(400);
      expect(message).toMatch(/2048.*2120/);
    }
  });
});
