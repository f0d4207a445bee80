import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { parse } from '../__fixtures__/outputs.ts';
import { collectOutput } from './output-events.ts';
import { type ToolDefinition, toolCallGrammar } from './tool-call-grammar.ts';
import type { ToolCallStyle } from './tool-call-style.ts';

const parameters = { type: 'object', properties: { at: { $ref: '#/$defs/day' } }, $defs: { day: { type: 'string' } } };
const tools: ToolDefinition[] = [
  { type: 'function', function: { name: 'look_up', parameters } },
  { type: 'function', function: { name: 'ping' } },
];

describe('toolCallGrammar', () => {
  it('describes the calls of each style', () => {
    expect(toolCallGrammar('hermes', tools, 'required')).toEqual({
      alternatives: [
        {
          name: 'look_up',
          prefix: '<tool_call>\n{"name": "look_up", "arguments": ',
          schema: parameters,
          suffix: '}\n</tool_call>',
        },
        {
          name: 'ping',
          prefix: '<tool_call>\n{"name": "ping", "arguments": ',
          schema: { type: 'object', properties: {}, additionalProperties: false },
          suffix: '}\n</tool_call>',
        },
      ],
    });
    expect(toolCallGrammar('llama3', tools, { name: 'look_up' })).toEqual({
      alternatives: [
        { name: 'look_up', prefix: '{"name": "look_up", "parameters": ', schema: parameters, suffix: '}' },
      ],
    });
  });

  it('allows several calls where the templates of the style do', () => {
    expect(toolCallGrammar('hermes', tools, 'required', { parallel: true }).separator).toBe('\n');
    expect(toolCallGrammar('llama3', tools, 'required', { parallel: true })).not.toHaveProperty('separator');
  });

  it.each<ToolCallStyle>(['hermes', 'llama3'])('describes what the parser reads: %s', (toolCallStyle) => {
    const { alternatives, separator = '; ' } = toolCallGrammar(toolCallStyle, tools, 'required', { parallel: true });
    const texts = alternatives.map(({ prefix, suffix }) => `${prefix}{"at": "noon"}${suffix}`);
    const output = collectOutput(parse(texts.join(separator), { toolCallStyle, toolNames: ['look_up', 'ping'] }));
    expect(output.content).toBe('');
    expect(output.toolCalls).toEqual([
      { id: 'call_0', name: 'look_up', arguments: '{"at": "noon"}' },
      { id: 'call_1', name: 'ping', arguments: '{"at": "noon"}' },
    ]);
  });

  it('makes arguments objects when the schema leaves that open', () => {
    const open: ToolDefinition = { type: 'function', function: { name: 'f', parameters: { minProperties: 1 } } };
    expect(toolCallGrammar('hermes', [open], 'required').alternatives[0]?.schema).toEqual({
      type: 'object',
      minProperties: 1,
    });
  });

  const tool = (definition: unknown) => ({ type: 'function', function: definition });
  it.each<[message: string, tools: unknown[], choice?: { name: string }]>([
    ['tools must be a list of at least one tool', []],
    ['tools[0] must be an object, but it is null', [null]],
    ['tools[0].type must be "function", but it is "web"', [{ type: 'web' }]],
    ['tools[0].function must be an object, but it is absent', [{ type: 'function' }]],
    ['tools[0].function.name must be the name of a tool, but it is ""', [tool({ name: '' })]],
    ['tools[0].function.parameters must be a JSON schema, but it is []', [tool({ name: 'f', parameters: [] })]],
    ['tools[0].function.parameters.type must be "object"', [tool({ name: 'f', parameters: { type: 'string' } })]],
    ['tools[1].function.name must be unlike the names before it', [tool({ name: 'f' }), tool({ name: 'f' })]],
    ['tool_choice must be one of f, but it is {"name":"g"}', [tool({ name: 'f' })], { name: 'g' }],
  ])('refuses by place: %s', (message, given, choice) => {
    const make = () => toolCallGrammar('hermes', given as ToolDefinition[], choice ?? 'required');
    expect(make).toThrow(InvalidArgumentError);
    expect(make).toThrow(message);
  });
});
