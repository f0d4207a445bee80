import { expect, it } from 'vitest';
import { createCallId } from './call-id.ts';
import { createOutputParser } from './output-parser.ts';

it('makes ids of 24 letters and digits, from a source that can be given', () => {
  expect(createCallId()).toMatch(/^call_[A-Za-z0-9]{24}$/);
  expect(new Set(Array.from({ length: 1000 }, () => createCallId())).size).toBe(1000);
  let next = 0;
  expect(createCallId((bound) => next++ % bound)).toBe('call_ABCDEFGHIJKLMNOPQRSTUVWX');
  expect(createCallId((bound) => bound - 1)).toBe(`call_${'9'.repeat(24)}`);
});

it('is where the ids of calls come from', () => {
  const [start] = createOutputParser({ toolCallStyle: 'llama3', toolNames: ['f'] }).push('{"name": "f"}');
  expect(start).toMatchObject({ type: 'toolCallStart', id: expect.stringMatching(/^call_[A-Za-z0-9]{24}$/) });
});
