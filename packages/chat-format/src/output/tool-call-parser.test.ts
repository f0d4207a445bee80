import { describe, expect, it } from 'vitest';
import { countingIds, parse } from '../__fixtures__/outputs.ts';
import { collectOutput, type OutputEvent } from './output-events.ts';
import { createOutputParser } from './output-parser.ts';

const toolNames = ['add', 'get weather', 'ping'];
const hermes = { toolCallStyle: 'hermes', toolNames } as const;
const llama3 = { toolCallStyle: 'llama3', toolNames } as const;

const content = (text: string): OutputEvent => ({ type: 'content', text });
const call = (index: number, name: string, text: string): OutputEvent[] => [
  { type: 'toolCallStart', index, id: `call_${index}`, name },
  { type: 'toolCallArguments', index, text },
  { type: 'toolCallEnd', index },
];

describe('calls of Hermes, Qwen2.5 and Qwen3', () => {
  it('come one after another, with content around them and the arguments as they were written', () => {
    const text =
      'Let me see.\n<tool_call>\n{"name": "add", "arguments": {"a" : 1.0, "b":[2e3]}}\n</tool_call>\n' +
      '<tool_call>{"name":"get weather","arguments":{}}</tool_call>\n Done.';
    expect(parse(text, hermes)).toEqual([
      content('Let me see.'),
      ...call(0, 'add', '{"a" : 1.0, "b":[2e3]}'),
      ...call(1, 'get weather', '{}'),
      content('\n Done.'),
    ]);
  });

  it.each<[title: string, text: string, name: string, args: string]>([
    ['arguments first', '{"arguments": {"a": "}"}, "name": "add"}', 'add', '{"a": "}"}'],
    ['no arguments', '{"name": "ping"}', 'ping', '{}'],
    ['null arguments', '{"name": "ping", "arguments": null}', 'ping', '{}'],
    ['JSON in a string', '{"name": "add", "arguments": "{\\"a\\": \\"\\\\n\\"}"}', 'add', '{"a": "\\n"}'],
    ['a type and an id', '{"type": "function", "id": "7", "name": "ping", "arguments": {}}', 'ping', '{}'],
    ['the other name of arguments', '{"name": "add", "parameters": {"a": 1}}', 'add', '{"a": 1}'],
    ['an escaped name', '{"name": "\\u0061dd", "arguments": {}}', 'add', '{}'],
    [
      'markers in strings',
      '{"name": "add", "arguments": {"</tool_call>": "<tool_call>"}}',
      'add',
      '{"</tool_call>": "<tool_call>"}',
    ],
  ])('may have %s', (_title, text, name, args) => {
    expect(parse(`<tool_call>\n${text}\n</tool_call>`, hermes)).toEqual(call(0, name, args));
  });

  it('do not need an end marker, and a cut one is dropped', () => {
    const one = '<tool_call>{"name":"ping","arguments":{}}';
    const { toolCalls } = collectOutput(parse(`${one}\n${one}\n</tool_c`, hermes));
    expect(toolCalls.map(({ name }) => name)).toEqual(['ping', 'ping']);
    expect(collectOutput(parse(`${one} and more`, hermes)).content).toBe(' and more');
  });

  it.each([
    '<tool_call>',
    'a <tool_ca',
    '<tool_call>\nadd(1, 2)\n</tool_call>',
    '<tool_call>{"name": "unknown", "arguments": {}}</tool_call>',
    '<tool_call>{"name": "add", "arguments": [1]}</tool_call>',
    '<tool_call>{"name": "add", "arguments": 1}</tool_call>',
    '<tool_call>{"name": "add", "arguments": "x"}</tool_call>',
    '<tool_call>{"name": "add", "arguments": "[]"}</tool_call>',
    '<tool_call>{"name": null, "arguments": {}}</tool_call>',
    '<tool_call>{"name": "add", "name": "add"}</tool_call>',
    '<tool_call>{"type": "tool", "name": "add"}</tool_call>',
    '<tool_call>{"function": "add", "arguments": {}}</tool_call>',
    '<tool_call>{"arguments": {"a": 1}}</tool_call>',
    '<tool_call>{}</tool_call>',
    '<tool_call>[{"name": "add", "arguments": {}}]</tool_call>',
    '{"name": "add", "arguments": {}}',
    'x\n\n<tool_call>\n{"nam',
    ' \n',
  ])('that are none are content, whole: %j', (text) => {
    expect(parse(text, hermes)).toEqual([content(text)]);
  });

  it('that go wrong after their start are broken and handed back', () => {
    const text = 'x\n<tool_call>{"name": "add", "arguments": {"a": tru';
    const start = { type: 'toolCallStart', index: 0, id: 'call_0', name: 'add' };
    const written = { type: 'toolCallArguments', index: 0, text: '{"a": tru' };
    const broken = { type: 'toolCallBroken', index: 0, text: text.slice(1) };
    expect(parse(text, hermes)).toEqual([content('x'), start, written, broken]);
    const rest = '}}</tool_call>\n<tool_call>{"name": "ping"}</tool_call>';
    const events = parse(text + rest, hermes);
    expect(events).toEqual([content('x'), start, written, broken, content('}}</tool_call>'), ...call(1, 'ping', '{}')]);
    expect(collectOutput(events)).toEqual({
      content: `${text}}}</tool_call>`,
      reasoning: '',
      toolCalls: [{ id: 'call_1', name: 'ping', arguments: '{}' }],
    });
  });

  it('begin again at a mistake', () => {
    const good = '<tool_call>{"name": "ping"}</tool_call>';
    for (const bad of [
      '<tool_call>',
      '<tool_call> oops ',
      '<tool_call>{"name": ',
      '<tool_call>{"name": "add", ',
      '<tool_',
    ]) {
      expect(collectOutput(parse(bad + good, hermes))).toMatchObject({ toolCalls: [{ name: 'ping' }] });
    }
  });
});

describe('calls of Llama 3', () => {
  it('stand instead of an answer, or after the marker', () => {
    const json = '{"name": "add", "parameters": {"a": 1}}';
    const expected = call(0, 'add', '{"a": 1}');
    expect(parse(json, llama3)).toEqual(expected);
    expect(parse(`\n ${json}\n`, llama3)).toEqual(expected);
    expect(parse(`<|python_tag|>${json}`, llama3)).toEqual(expected);
    expect(parse(`Well. <|python_tag|>${json}`, llama3)).toEqual([content('Well.'), ...expected]);
  });

  it('may be several, with or without semicolons', () => {
    const json = '{"type": "function", "name": "ping", "parameters": {}}';
    for (const between of ['; ', ';', '\n', '', ' ;\n<|python_tag|>']) {
      expect(parse(json + between + json, llama3)).toEqual([...call(0, 'ping', '{}'), ...call(1, 'ping', '{}')]);
    }
    expect(parse(`${json}; and`, llama3)).toEqual([...call(0, 'ping', '{}'), content('; and')]);
    expect(parse(`${json};`, llama3)).toEqual([...call(0, 'ping', '{}'), content(';')]);
  });

  it.each([
    '{"name": "Bob", "age": 3}',
    '{"answer": 42}',
    '{',
    ';{"name": "ping"}',
    'It is {"name": "ping", "parameters": {}}',
    '<|python_tag|>weather.call(city="Rome")',
    '<|python_tag|>print("{")\n{"name": "ping"}',
    '{"name": "add", "parameters": 3}',
  ])('that are none are content, whole: %j', (text) => {
    expect(parse(text, llama3)).toEqual([content(text)]);
  });
});

describe('streaming', () => {
  it('gives every delta as soon as it is certain', () => {
    const parser = createOutputParser({ ...hermes, createCallId: countingIds() });
    expect(parser.push('Hi')).toEqual([content('Hi')]);
    expect(parser.push(' <b')).toEqual([content(' <b')]);
    expect(parser.push('\n<tool_')).toEqual([]);
    expect(parser.push('call>{"name": "add", "argu')).toEqual([]);
    expect(parser.push('ments": {"a"')).toEqual(call(0, 'add', '{"a"').slice(0, 2));
    expect(parser.push(': 1')).toEqual([{ type: 'toolCallArguments', index: 0, text: ': 1' }]);
    expect(parser.push('}')).toEqual([{ type: 'toolCallArguments', index: 0, text: '}' }]);
    expect(parser.push('}\n')).toEqual([{ type: 'toolCallEnd', index: 0 }]);
    expect(parser.finish()).toEqual([]);
  });

  it('holds back nothing when no calls are looked for', () => {
    const parser = createOutputParser({});
    expect(parser.push('<tool_')).toEqual([content('<tool_')]);
    expect(parser.push('')).toEqual([]);
    expect(parser.finish()).toEqual([]);
  });
});
