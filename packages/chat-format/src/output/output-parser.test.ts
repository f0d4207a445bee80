import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callSoup, cut, parse, parsePieces, trickyArguments } from '../__fixtures__/outputs.ts';
import { collectOutput } from './output-events.ts';
import { type OutputParserOptions, outputMarkers } from './output-parser.ts';

const anyOptions: fc.Arbitrary<OutputParserOptions> = fc.record({
  reasoning: fc.constantFrom(undefined, 'open', 'closed'),
  toolCallStyle: fc.constantFrom(undefined, 'hermes', 'llama3'),
  toolNames: fc.constant(['add', 'a"b']),
});
const anyCuts = fc.array(fc.nat(), { maxLength: 12 });
const indent = fc.constantFrom(undefined, 1, '\t');
const plainText = fc.constantFrom('Hi.', 'It is {"a": 1}, is it?', 'a < b', '<b>x</b>', '"');

const toolNames = ['add', 'a"b'];
const anyCall = fc.record({
  name: fc.constantFrom(...toolNames),
  value: trickyArguments,
  indent,
  isNameFirst: fc.boolean(),
});

function writeCall({
  name,
  value,
  indent,
  isNameFirst,
}: {
  name: string;
  value: unknown;
  indent: string | number | undefined;
  isNameFirst: boolean;
}) {
  const args = JSON.stringify(value, null, indent);
  const nameMember = `"name": ${JSON.stringify(name)}`;
  const members = [nameMember, `"arguments": ${args}`];
  return { name, args, text: `{${(isNameFirst ? members : members.reverse()).join(', ')}}` };
}

describe('any cut of a text', () => {
  it('gives the same events', () => {
    let numCalls = 0;
    let numBroken = 0;
    fc.assert(
      fc.property(callSoup, anyCuts, anyOptions, (text, cuts, options) => {
        const whole = parse(text, options);
        numCalls += whole.filter(({ type }) => type === 'toolCallEnd').length;
        numBroken += whole.filter(({ type }) => type === 'toolCallBroken').length;
        expect(parsePieces(cut(text, cuts), options)).toEqual(whole);
        expect(parsePieces(text.split(''), options)).toEqual(whole);
      }),
      { seed: 3, numRuns: 2000 },
    );
    // The texts are worth it.
    expect(numCalls).toBeGreaterThan(100);
    expect(numBroken).toBeGreaterThan(100);
  });
});

describe('nothing is lost', () => {
  it('of a text in which nothing is a call', () => {
    fc.assert(
      fc.property(callSoup, fc.constantFrom('hermes', 'llama3'), (text, toolCallStyle) => {
        fc.pre(text !== '');
        expect(parse(text, { toolCallStyle, toolNames: ['none of these'] })).toEqual([{ type: 'content', text }]);
      }),
      { seed: 4, numRuns: 500 },
    );
  });

  it('of a call that is cut short', () => {
    fc.assert(
      fc.property(anyCall, fc.nat(), fc.constantFrom('hermes', 'llama3'), (called, place, toolCallStyle) => {
        const { text } = writeCall(called);
        const whole = toolCallStyle === 'hermes' ? `x\n<tool_call>\n${text}` : text;
        const cutShort = whole.slice(0, place % whole.length);
        const output = collectOutput(parse(cutShort, { toolCallStyle, toolNames }));
        expect(output).toEqual({ content: cutShort, reasoning: '', toolCalls: [] });
      }),
      { seed: 5, numRuns: 500 },
    );
  });
});

describe('calls with any arguments', () => {
  it('are read back exactly, with the text between them', () => {
    const part = fc.record({ called: anyCall, after: fc.option(plainText, { nil: '' }) });
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 4 }), anyCuts, (parts, cuts) => {
        const calls = parts.map(({ called }) => writeCall(called));
        const text = parts.map(({ after }, i) => `<tool_call>\n${calls[i]?.text}\n</tool_call>${after}`).join('\n');
        const output = collectOutput(parsePieces(cut(text, cuts), { toolCallStyle: 'hermes', toolNames }));
        expect(output.toolCalls.map(({ name, arguments: args }) => ({ name, args }))).toEqual(
          calls.map(({ name, args }) => ({ name, args })),
        );
        expect(output.content).toBe(parts.map(({ after }) => after).join(''));
      }),
      { seed: 6, numRuns: 300 },
    );
  });

  it('are read back exactly without markers', () => {
    fc.assert(
      fc.property(fc.array(anyCall, { minLength: 1, maxLength: 3 }), anyCuts, (called, cuts) => {
        const calls = called.map(writeCall);
        const text = calls.map((call) => call.text).join('; ');
        const output = collectOutput(parsePieces(cut(text, cuts), { toolCallStyle: 'llama3', toolNames }));
        expect(output.content).toBe('');
        expect(output.toolCalls.map((call) => call.arguments)).toEqual(calls.map(({ args }) => args));
      }),
      { seed: 7, numRuns: 300 },
    );
  });

  it('are found after any number of calls that go wrong', () => {
    const markers = '<tool_call>{"arguments":{"a":"'.repeat(20_000);
    const long = JSON.stringify({ a: 'x'.repeat(300_000), b: '['.repeat(1000) });
    const call = `<tool_call>{"name": "add", "arguments": ${long}}</tool_call>`;
    const { content, toolCalls } = collectOutput(
      parsePieces((markers + call).split(''), { toolCallStyle: 'hermes', toolNames }),
    );
    expect(content).toBe(markers);
    expect(toolCalls).toEqual([{ id: 'call_0', name: 'add', arguments: long }]);
  });
});

describe('outputMarkers', () => {
  it('names what must not be left out of the text', () => {
    expect(outputMarkers({})).toEqual([]);
    expect(outputMarkers({ reasoning: 'open', toolCallStyle: 'hermes' })).toEqual([
      '<think>',
      '</think>',
      '<tool_call>',
      '</tool_call>',
    ]);
    expect(outputMarkers({ toolCallStyle: 'llama3' })).toEqual(['<|python_tag|>']);
  });
});
