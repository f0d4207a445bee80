import type { OutputParserOptions } from '@hearth/chat-format';
import { expect, it } from 'vitest';
import { OutputReader } from './output-reader.ts';
import type { TextLogprob, TextLogprobs } from './text-logprobs.ts';

const token = (text: string): TextLogprob => ({ text, bytes: [...Buffer.from(text)], logprob: -1, top: [] });

/** Reads tokens, and says what is content and what its tokens are. */
function read(pieces: readonly string[], parser: OutputParserOptions) {
  let next = 0;
  const logprobs = { push: () => [token(pieces[next++]!)], finish: () => [] } as unknown as TextLogprobs;
  const reader = new OutputReader({
    parser,
    callsAreCertain: false,
    beginsWithCall: false,
    mostCalls: 9,
    logprobs,
    isContentOnly: true,
  });
  const events = pieces.flatMap((text, index) => reader.push({ type: 'text-delta', text, tokenId: 0, index }));
  events.push(...reader.finish({ text: pieces.join('') } as never));
  return {
    content: events.map((event) => (event.type === 'content' ? event.text : '')).join(''),
    tokens: reader.takeLogprobs()!.map(({ text }) => text),
  };
}

const call = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>';

it.each<[string[], string[]]>([
  [
    ['<think>', 'hm', '</think>', '\n\n', 'yes', '!'],
    ['yes', '!'],
  ],
  [
    ['hm', '</thi', 'nk>\n\nye', 's'],
    ['ye', 's'],
  ],
  [
    ['</think>', 'a', ' ', '<', '<b>', ' '],
    ['a', ' ', '<', '<b>', ' '],
  ],
  [
    ['</think>', 'now', ': ', call, '\n', 'done'],
    ['now', ':', '\n', 'done'],
  ],
  [
    ['</think>', 'x', '<tool_call>', '\n{"name": "g"', '}', 'y'],
    ['x', '<tool_call>', '\n{"name": "g"', '}', 'y'],
  ],
])('are those of the content: %j', (pieces, expected) => {
  const options = { reasoning: 'open', toolCallStyle: 'hermes', toolNames: ['f'] } as const;
  const { content, tokens } = read(pieces, options);
  expect(tokens.join('')).toBe(content);
  expect(tokens).toEqual(expected);
  // However the text is cut into tokens.
  const units = read(pieces.join('').split(''), options);
  expect([units.content, units.tokens.join('')]).toEqual([content, content]);
});
