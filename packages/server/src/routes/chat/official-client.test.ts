import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import type { ChatCompletionTool } from 'openai/resources/chat/completions';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { openAiClient } from '../../__fixtures__/openai-client.ts';
import { scriptedModel, type templates } from '../../__fixtures__/scripted-chat.ts';
import { type AnyJson, type TestServer, testServer } from '../../__fixtures__/test-server.ts';

const call = '<tool_call>\n{"name": "clock", "arguments": {"zone": "UTC"}}\n</tool_call>';
const tools: ChatCompletionTool[] = [
  {
    type: 'function',
    function: { name: 'clock', parameters: { type: 'object', properties: { zone: { type: 'string' } } } },
  },
];
const hi = { model: 'fake', messages: [{ role: 'user' as const, content: 'hi' }], temperature: 0 };

let test: TestServer;

async function client(reply: string | ((prompt: string) => string), template?: keyof typeof templates) {
  test = await testServer(await scriptedModel(reply, template));
  return openAiClient(test.server);
}

afterEach(() => test.server.dispose());

describe('the official client', () => {
  it('has a whole answer, and the same streamed', async () => {
    const { chat } = await client('hello 😀');
    const whole = await chat.completions.create(hi);
    expect(whole.choices[0]!.message.content).toBe('hello 😀');
    const stream = chat.completions.stream({ ...hi, stream_options: { include_usage: true } });
    let text = '';
    stream.on('content', (delta) => (text += delta));
    const final = await stream.finalChatCompletion();
    expect(text).toBe('hello 😀');
    expect(final.choices[0]!.message.content).toBe('hello 😀');
    expect(final.usage?.completion_tokens).toBe(whole.usage!.completion_tokens);
  });

  it('has calls, and the same streamed', async () => {
    const { chat } = await client(`${call}\n${call}`, 'qwenLike');
    const whole = await chat.completions.create({ ...hi, tools });
    const final = await chat.completions.stream({ ...hi, tools }).finalChatCompletion();
    for (const { choices } of [whole, final]) {
      expect(choices[0]!.finish_reason).toBe('tool_calls');
      expect(choices[0]!.message.tool_calls).toMatchObject([
        { type: 'function', function: { name: 'clock', arguments: '{"zone": "UTC"}' } },
        { type: 'function', function: { name: 'clock', arguments: '{"zone": "UTC"}' } },
      ]);
    }
  });

  it('calls a function, and is told what came of it', async () => {
    const { chat } = await client((prompt) => (prompt.includes('noon') ? 'It is noon.' : call), 'qwenLike');
    const runner = chat.completions.runTools({
      ...hi,
      tools: [
        {
          type: 'function',
          function: {
            name: 'clock',
            parameters: { type: 'object', properties: { zone: { type: 'string' } } },
            parse: JSON.parse,
            function: ({ zone }: { zone: string }) => `noon in ${zone}`,
            description: 'Tells the time',
          },
        },
      ],
    });
    expect(await runner.finalContent()).toBe('It is noon.');
  });

  it('parses answers and calls by the schemas that it has sent', async () => {
    const { chat } = await client((prompt) => (prompt.includes('clock') ? 'Now: <tool_call>' : ''), 'qwenLike');
    const Mood = z.object({ mood: z.enum(['up', 'down']), level: z.int().nullable() });
    const parsed = await chat.completions.parse({ ...hi, response_format: zodResponseFormat(Mood, 'mood') });
    expect(Mood.safeParse(parsed.choices[0]!.message.parsed).success).toBe(true);
    const streamed = chat.completions.stream({ ...hi, response_format: zodResponseFormat(Mood, 'mood') });
    expect((await streamed.finalChatCompletion()).choices[0]!.message.parsed).toEqual(
      parsed.choices[0]!.message.parsed,
    );
    const Clock = z.object({ zone: z.enum(['UTC', 'CET']) });
    const called = await chat.completions.parse({ ...hi, tools: [zodFunction({ name: 'clock', parameters: Clock })] });
    const [call] = called.choices[0]!.message.tool_calls!;
    expect(call).toMatchObject({ type: 'function', function: { name: 'clock' } });
    expect(Clock.safeParse((call as AnyJson).function.parsed_arguments).success).toBe(true);
  });

  it('has log-probabilities', async () => {
    const { chat } = await client('ab');
    const { choices } = await chat.completions.create({ ...hi, logprobs: true, top_logprobs: 3 });
    expect(choices[0]!.logprobs!.content!.map(({ token, top_logprobs }) => [token, top_logprobs.length])).toEqual([
      ['a', 3],
      ['b', 3],
    ]);
  });

  it('is told what is wrong as an error of its own', async () => {
    const { chat } = await client('ok');
    const refused = chat.completions.create({ ...hi, model: 'other' });
    await expect(refused).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
    await expect(chat.completions.create({ ...hi, max_tokens: -1 })).rejects.toMatchObject({
      status: 400,
      param: 'max_tokens',
    });
  });

  it('ends the work when a stream is left', async () => {
    const { chat } = await client('x'.repeat(1500));
    for await (const chunk of await chat.completions.create({ ...hi, stream: true })) {
      if (chunk.choices[0]!.delta.content) break;
    }
    expect((await chat.completions.create({ ...hi, max_tokens: 1 })).choices[0]!.message.content).toBe('x');
  });
});
