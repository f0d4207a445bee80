import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { normalizeMessages } from './messages.ts';

describe('normalizeMessages', () => {
  it('brings content into one form and keeps other members', () => {
    const messages = [
      { role: 'user', content: 'a', name: 'Ann' },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'b' },
          { type: 'text', text: 'c' },
        ],
      },
      { role: 'assistant', content: null, tool_calls: [{ id: 'x', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'x' },
      { role: 'assistant', content: '', tool_calls: null },
    ];
    expect(normalizeMessages(messages)).toEqual([
      { role: 'user', content: 'a', name: 'Ann' },
      { role: 'user', content: 'b\nc' },
      { role: 'assistant', content: '', tool_calls: [{ id: 'x', function: { name: 'f', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'x', content: '' },
      { role: 'assistant', content: '' },
    ]);
    expect(messages[2]?.content).toBeNull();
  });

  const user = { role: 'user', content: 'x' };
  it.each<[message: string, messages: unknown]>([
    ['messages must be a list, but it is null', null],
    ['messages must be a list, but it is "hi"', 'hi'],
    ['messages must be a list of at least one message', []],
    ['messages[0] must be an object, but it is null', [null]],
    ['messages[1] must be an object, but it is 42', [user, 42]],
    ['messages[0].role must be the name of a role, but it is absent', [{ content: 'x' }]],
    ['messages[0].role must be the name of a role, but it is 7', [{ role: 7, content: 'x' }]],
    ['messages[0].content must be a string, a list of parts or null, but it is 5', [{ role: 'user', content: 5 }]],
    ['messages[0].content[0] must be an object, but it is null', [{ role: 'user', content: [null] }]],
    ['messages[0].content[0].type must be "text"', [{ role: 'user', content: [{ type: 'hologram', x: 1 }] }]],
    ['messages[0].content[0].text must be a string', [{ role: 'user', content: [{ type: 'text' }] }]],
    ['messages[0].tool_calls must be a list', [{ ...user, tool_calls: {} }]],
    ['messages[0].tool_calls[0] must be an object', [{ ...user, tool_calls: [1] }]],
    ['messages[0].tool_calls[0].function must be an object', [{ ...user, tool_calls: [{}] }]],
    ['messages[0].tool_calls[0].function.name must be a string', [{ ...user, tool_calls: [{ function: {} }] }]],
    [
      'messages[0].tool_calls[0].function.arguments must be JSON text or an object',
      [{ ...user, tool_calls: [{ function: { name: 'f', arguments: [] } }] }],
    ],
    // biome-ignore lint/suspicious/noSparseArray: a hole is what the test is about
    ['messages[0] must be an object, but it is absent', [, user]],
  ])('refuses by place: %s', (message, messages) => {
    expect(() => normalizeMessages(messages)).toThrow(InvalidArgumentError);
    expect(() => normalizeMessages(messages)).toThrow(message);
  });
});
