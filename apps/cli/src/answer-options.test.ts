import { Command } from 'commander';
import { expect, it } from 'vitest';
import { type AnswerFlags, addAnswerOptions, answerOptions } from './answer-options.ts';

function parse(...args: string[]) {
  const command = addAnswerOptions(new Command());
  return answerOptions({ ...command.parse(args, { from: 'user' }).opts<AnswerFlags>(), maxTokens: 3 });
}

it('takes a deadline in seconds', () => {
  expect(parse('--timeout', '1.5')).toMatchObject({ maxTokens: 3, timeoutMs: 1500, temperature: 0 });
  expect(parse().timeoutMs).toBeUndefined();
});

it.each(['0', '-1', '2147484', 'soon', ''])('refuses a deadline of %j seconds', (text) => {
  expect(() => parse('--timeout', text)).toThrow(expect.objectContaining({ code: 'usage' }));
});
