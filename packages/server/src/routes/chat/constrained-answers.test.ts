import { hashScript } from '@hearth/engine/test';
import { afterEach, describe, expect, it } from 'vitest';
import { scriptedModel, type templates } from '../../__fixtures__/scripted-chat.ts';
import { type AnyJson, type TestServer, testServer } from '../../__fixtures__/test-server.ts';

const path = '/v1/chat/completions';
const hi = [{ role: 'user', content: 'hi' }];
const tools = [
  {
    type: 'function',
    function: {
      name: 'clock',
      parameters: {
        type: 'object',
        properties: { zone: { enum: ['UTC', 'CET'] } },
        required: ['zone'],
        additionalProperties: false,
      },
    },
  },
  { type: 'function', function: { name: 'dice' } },
];
const strictTools = tools.map((tool) => ({ ...tool, function: { ...tool.function, strict: true } }));

let test: TestServer;

/** Without a reply the model writes bytes at random. */
async function serve(reply: string | undefined, template?: keyof typeof templates) {
  const model = await scriptedModel(reply ?? '', template);
  test = await testServer(reply === undefined ? { ...model, next: hashScript() } : model);
  return {
    answer: async (body: object) => (await test.json(path, { messages: hi, seed: 1, ...body })).body,
    events: (body: object) => test.events(path, { messages: hi, seed: 1, stream: true, ...body }),
    refusal: async (body: object) => {
      const { status, body: answer } = await test.json(path, { messages: hi, ...body });
      return { status, param: answer.error?.param };
    },
  };
}

afterEach(() => test.server.dispose());

const join = (chunks: AnyJson[], name: string) => chunks.map((chunk) => chunk.choices?.[0].delta[name] ?? '').join('');

function jsonSchema(schema: object) {
  return { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } };
}

describe('response_format', () => {
  const mood = {
    type: 'object',
    properties: { mood: { $ref: '#/$defs/mood' }, level: { type: 'integer', minimum: 1, maximum: 3 } },
    required: ['mood', 'level'],
    additionalProperties: false,
    $defs: { mood: { enum: ['up', 'down', 'a"b\\c'] } },
  };

  it('takes schemas with bounds of 64 bits', async () => {
    const { answer } = await serve(undefined);
    const schema = '{"type": "integer", "minimum": 0, "maximum": 9223372036854775807}';
    const body = `{"messages": [{"role": "user", "content": "hi"}], "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": ${schema}}}}`;
    const { status, body: whole } = await test.json(path, body);
    expect(status).toBe(200);
    expect(BigInt(whole.choices[0].message.content)).toBeLessThan(2n ** 63n);
    expect((await answer(jsonSchema(JSON.parse(schema)))).choices[0].finish_reason).toBe('stop');
  });

  it('holds the answer to a schema, streamed and not (B42)', async () => {
    const { answer, events } = await serve(undefined);
    for (const seed of [1, 2, 3]) {
      const { message, finish_reason } = (await answer({ ...jsonSchema(mood), seed })).choices[0];
      const value = JSON.parse(message.content);
      expect(['up', 'down', 'a"b\\c']).toContain(value.mood);
      expect([1, 2, 3]).toContain(value.level);
      expect(finish_reason).toBe('stop');
      expect(join(await events({ ...jsonSchema(mood), seed }), 'content')).toBe(message.content);
    }
  });

  it('has any object, which ends with its last bracket (B44)', async () => {
    const { answer } = await serve('{"a": 1}     ');
    const { message, finish_reason } = (await answer({ response_format: { type: 'json_object' }, temperature: 0 }))
      .choices[0];
    expect([message.content, finish_reason]).toEqual(['{"a": 1}', 'stop']);
  });

  it('refuses integers that JSON of a schema would lose, and does not fail', async () => {
    const { refusal } = await serve('ok', 'qwenLike');
    const body = (extra: string) => test.json(path, `{"messages": [{"role": "user", "content": "hi"}], ${extra}}`);
    const schema = '{"const": 12345678901234567890}';
    const format = `"response_format": {"type": "json_schema", "json_schema": {"schema": ${schema}}}`;
    expect(await body(format)).toMatchObject({ status: 400, body: { error: { param: 'response_format' } } });
    const tool = '{"type": "function", "function": {"name": "x", "parameters": {"type": 12345678901234567890}}}';
    expect(await body(`"tools": [${tool}], "tool_choice": "required"`)).toMatchObject({ status: 400 });
    expect(await refusal({ tools, seed: 0.5 })).toEqual({ status: 400, param: 'seed' });
  });

  it('refuses what cannot be compiled, and what is asked for twice', async () => {
    const { refusal } = await serve('ok', 'qwenLike');
    const loop = { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } };
    for (const stream of [false, true]) {
      for (const schema of [loop, { $ref: '#/$defs/nope' }, { pattern: 'x' }]) {
        expect(await refusal({ ...jsonSchema(schema), stream })).toEqual({ status: 400, param: 'response_format' });
      }
    }
    const structured_outputs = { choice: ['a'] };
    const both = { status: 400, param: 'structured_outputs' };
    expect(await refusal({ ...jsonSchema(mood), structured_outputs })).toEqual(both);
    expect(await refusal({ structured_outputs: { choice: ['a'], json: {} } })).toEqual(both);
    expect(await refusal({ ...jsonSchema(mood), tools })).toEqual({ status: 400, param: 'response_format' });
    expect(await refusal({ structured_outputs: { grammar: 'root ::= (' } })).toEqual(both);
  });
});

it('refuses ignore_eos beside a constraint, which says where the text ends', async () => {
  const { refusal } = await serve('ok', 'qwenLike');
  const ignore_eos = true;
  const expected = { status: 400, param: 'ignore_eos' };
  expect(await refusal({ ...jsonSchema({ const: 5 }), ignore_eos })).toEqual(expected);
  expect(await refusal({ tools, tool_choice: 'required', ignore_eos })).toEqual(expected);
  const completion = { prompt: 'x', structured_outputs: { choice: ['a'] }, ignore_eos };
  expect((await test.json('/v1/completions', completion)).body.error.param).toBe('ignore_eos');
});

describe('structured_outputs', () => {
  it('is one of several texts, or a text of a grammar', async () => {
    const { answer } = await serve(undefined);
    const contentOf = async (structured_outputs: object) =>
      (await answer({ structured_outputs })).choices[0].message.content;
    expect(['yes', 'no']).toContain(await contentOf({ choice: ['yes', 'no'] }));
    expect(await contentOf({ grammar: 'root ::= "a" [0-9] "z"' })).toMatch(/^a\dz$/);
    expect(await contentOf({ json: { const: 5 } })).toBe('5');
  });
});

describe('tool_choice', () => {
  it.each(['qwenLike', 'llamaLike'] as const)('required: exactly one valid call, with %s', async (template) => {
    const { answer, events } = await serve(undefined, template);
    for (const seed of [1, 2, 3, 4]) {
      const body = { tools, tool_choice: 'required', seed };
      const { message, finish_reason } = (await answer(body)).choices[0];
      expect([message.content, finish_reason, message.tool_calls.length]).toEqual([null, 'tool_calls', 1]);
      const { name, arguments: text } = message.tool_calls[0].function;
      expect(['{"zone": "UTC"}', '{"zone": "CET"}', '{}'].map((json) => JSON.parse(json))).toContainEqual(
        JSON.parse(text),
      );
      expect(name).toBe(JSON.parse(text).zone ? 'clock' : 'dice');
      const deltas = (await events(body)).flatMap((chunk) => chunk.choices?.[0].delta.tool_calls ?? []);
      expect(deltas.map((delta) => delta.function.arguments).join('')).toBe(text);
      // As they come, since nothing can go wrong.
      if (name === 'clock') expect(deltas.length).toBeGreaterThan(3);
    }
  });

  it('by name: a call of that tool', async () => {
    const { answer } = await serve(undefined, 'qwenLike');
    const tool_choice = { type: 'function', function: { name: 'dice' } };
    for (const seed of [1, 2, 3]) {
      const { tool_calls } = (await answer({ tools, tool_choice, seed })).choices[0].message;
      expect(tool_calls.map((call: AnyJson) => [call.function.name, JSON.parse(call.function.arguments)])).toEqual([
        ['dice', {}],
      ]);
    }
  });

  it.each(['qwenLike', 'llamaLike'] as const)(
    'with too few tokens: no call, nothing of one as content, and finish_reason length (%s)',
    async (template) => {
      const { answer, events } = await serve(undefined, template);
      for (const max_tokens of [1, 9, 20, 25]) {
        const body = { tools, tool_choice: 'required', max_tokens };
        const { message, finish_reason } = (await answer(body)).choices[0];
        expect([message.content, message.tool_calls, finish_reason]).toEqual(['', undefined, 'length']);
        const chunks = await events(body);
        expect([join(chunks, 'content'), chunks.at(-2).choices[0].finish_reason]).toEqual(['', 'length']);
      }
    },
  );

  it('with a stop text that ends the call: it is content, streamed and not', async () => {
    const { answer, events } = await serve(undefined, 'qwenLike');
    const body = { tools, tool_choice: { type: 'function', function: { name: 'clock' } }, stop: 'zone' };
    const { message, finish_reason } = (await answer(body)).choices[0];
    expect([message.tool_calls, finish_reason]).toEqual([undefined, 'stop']);
    expect(message.content).toMatch(/^<tool_call>\n\{"name": "clock", "arguments": \{\s*"$/);
    const chunks = await events(body);
    expect([join(chunks, 'content'), join(chunks, 'tool_calls')]).toEqual([message.content, '']);
  });

  it('auto: calls of strict tools are held to their schemas, and text is free', async () => {
    const free = await serve('Hello.', 'qwenLike');
    expect((await free.answer({ tools: strictTools, temperature: 0 })).choices[0].message.content).toBe('Hello.');
    await test.server.dispose();
    const wrong = await serve(
      'Now: <tool_call>\n{"name": "clock", "arguments": {"zone": "XYZ"}}\n</tool_call>',
      'qwenLike',
    );
    const { message } = (await wrong.answer({ tools: strictTools, temperature: 0 })).choices[0];
    expect(message.content).toBe('Now:');
    expect(JSON.parse(message.tool_calls[0].function.arguments).zone).toMatch(/UTC|CET/);
  });

  it('auto with parallel_tool_calls false: one call', async () => {
    const call = '<tool_call>\n{"name": "dice", "arguments": {}}\n</tool_call>';
    for (const template of ['qwenLike', 'llamaLike'] as const) {
      const reply =
        template === 'qwenLike'
          ? `${call}\n${call}`
          : '{"name": "dice", "parameters": {}}; {"name": "dice", "parameters": {}}';
      const { answer } = await serve(reply, template);
      const body = { tools, temperature: 0 };
      expect((await answer(body)).choices[0].message.tool_calls).toHaveLength(2);
      const { message } = (await answer({ ...body, parallel_tool_calls: false })).choices[0];
      expect([message.tool_calls.length, message.content]).toEqual([1, null]);
      await test.server.dispose();
    }
  });

  it('refuses tools whose schema cannot be compiled, only where they are held to it', async () => {
    const { answer, refusal } = await serve('ok', 'qwenLike');
    const parameters = { type: 'object', properties: { zone: { type: 'string', pattern: 'U.*' } } };
    const odd = [{ type: 'function', function: { name: 'clock', parameters } }];
    expect(await refusal({ tools: odd, tool_choice: 'required' })).toEqual({ status: 400, param: 'tools' });
    expect((await answer({ tools: odd, temperature: 0 })).choices[0].message.content).toBe('ok');
  });

  it('has strict tools for styles with a marker only, unless a call is required', async () => {
    const { answer, refusal } = await serve(undefined, 'llamaLike');
    expect(await refusal({ tools: strictTools })).toEqual({ status: 400, param: 'tools' });
    const { message } = (await answer({ tools: strictTools, tool_choice: 'required' })).choices[0];
    expect(message.tool_calls).toHaveLength(1);
  });
});

describe('thoughts', () => {
  it('are free, and the answer after them is held to its schema', async () => {
    const { answer, events } = await serve('<think>{ hm }</think>\n\n{"a": 7, "b"', 'thinking');
    const body = {
      ...jsonSchema({ type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] }),
      temperature: 0,
    };
    const { message, finish_reason } = (await answer(body)).choices[0];
    expect([message.reasoning_content, finish_reason]).toEqual(['{ hm }', 'stop']);
    expect(JSON.parse(message.content)).toEqual({ a: 7 });
    const chunks = await events(body);
    expect([join(chunks, 'reasoning_content'), join(chunks, 'content')]).toEqual(['{ hm }', message.content]);
  });

  it('do not end the text, as there has to be an answer', async () => {
    const { answer } = await serve('hm', 'thinking');
    for (const seed of [1, 2, 3]) {
      const body = { ...jsonSchema({ const: 7 }), seed, temperature: 0, max_tokens: 40 };
      const { message, finish_reason } = (await answer({ ...body, reasoning_budget: 4 })).choices[0];
      expect([message.content, finish_reason]).toEqual(['7', 'stop']);
      expect((await answer(body)).choices[0]).toMatchObject({ message: { content: '' }, finish_reason: 'length' });
    }
  });

  it('keep to their budget', async () => {
    const { answer } = await serve(`<think>${'x'.repeat(100)}`, 'thinking');
    const body = { temperature: 0, max_tokens: 40 };
    const { choices, usage } = await answer({ ...body, reasoning_budget: 5 });
    expect(choices[0].message.reasoning_content).toBe('xxxxx');
    expect(choices[0].message.content).toMatch(/^x+$/);
    // Five, a line feed and the eight of the marker.
    expect(usage.completion_tokens_details.reasoning_tokens).toBe(14);
    expect((await answer({ ...body, reasoning_budget: 0 })).choices[0].message).not.toHaveProperty('reasoning_content');
    expect((await answer(body)).choices[0].message.reasoning_content).toBe('x'.repeat(40));
  });

  it('are switched off where the template can, and refused where there are none', async () => {
    const { answer, refusal } = await serve('<think>\n\n</think>\n\nyes', 'qwenLike');
    const off = await answer({ reasoning_effort: 'none', temperature: 0 });
    expect(off.choices[0].message).toEqual({ role: 'assistant', content: 'yes', refusal: null });
    expect(off.usage.completion_tokens_details.reasoning_tokens).toBe(0);
    const contradiction = { reasoning_effort: 'none', chat_template_kwargs: { enable_thinking: true } };
    expect(await refusal(contradiction)).toEqual({ status: 400, param: 'reasoning_effort' });
    expect(await refusal({ reasoning_effort: 'all' })).toEqual({ status: 400, param: 'reasoning_effort' });
    await test.server.dispose();
    const plain = await serve('yes', 'plain');
    expect(await plain.refusal({ reasoning_effort: 'high' })).toEqual({ status: 400, param: 'reasoning_effort' });
    expect((await plain.answer({ reasoning_effort: 'none', temperature: 0 })).choices[0].message.content).toBe('yes');
    await test.server.dispose();
    const always = await serve('yes', 'thinking');
    expect(await always.refusal({ reasoning_effort: 'none' })).toEqual({ status: 400, param: 'reasoning_effort' });
  });
});
