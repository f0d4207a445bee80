import { describe, expect, it } from 'vitest';
import { readTemplate } from '../__fixtures__/jinja2.ts';
import { parse } from '../__fixtures__/outputs.ts';
import { collectOutput } from './output-events.ts';
import { createOutputParser } from './output-parser.ts';
import { detectReasoning, type ReasoningBlock, reasoningBlockAfter } from './reasoning-parser.ts';

describe('reasoning blocks', () => {
  it.each<[block: ReasoningBlock, text: string, reasoning: string, content: string]>([
    ['closed', '<think>\nHm.\n\nSo.\n</think>\n\nHi.\n', 'Hm.\n\nSo.', 'Hi.\n'],
    ['closed', '\n<think>a</think>b', 'a', 'b'],
    ['closed', '<think>\n\n</think>\n\nb', '', 'b'],
    ['closed', 'Hi. <think>a</think>', '', 'Hi. <think>a</think>'],
    ['closed', ' a</think>b', '', ' a</think>b'],
    ['closed', '<think>a <think> b</think> c </think>', 'a <think> b', 'c </think>'],
    ['closed', '<think>a\n</thin', 'a\n</thin', ''],
    ['closed', ' <thin', '', ' <thin'],
    ['closed', '<think>', '', ''],
    ['open', '\nHm.\n</think>\n\nHi.', 'Hm.', 'Hi.'],
    ['open', '<think>\nHm.</think>Hi.', 'Hm.', 'Hi.'],
    ['open', '</think>Hi.', '', 'Hi.'],
    ['open', ' <thin', ' <thin', ''],
    ['open', ' <thi</think>a', '<thi', 'a'],
    ['open', 'Hm. <tool_call>', 'Hm. <tool_call>', ''],
  ])('%s: %j', (reasoning, text, expectedReasoning, content) => {
    expect(collectOutput(parse(text, { reasoning }))).toEqual({ reasoning: expectedReasoning, content, toolCalls: [] });
  });

  it('hold calls that are none, and calls follow them', () => {
    const call = '<tool_call>{"name": "ping"}</tool_call>';
    const options = { reasoning: 'open', toolCallStyle: 'hermes', toolNames: ['ping'] } as const;
    const { reasoning, content, toolCalls } = collectOutput(parse(`I could ${call}\n</think>\n\n${call}`, options));
    expect({ reasoning, content }).toEqual({ reasoning: `I could ${call}`, content: '' });
    expect(toolCalls).toHaveLength(1);
  });

  it('stream, with the white space before a possible end held back', () => {
    const parser = createOutputParser({ reasoning: 'closed' });
    expect(parser.push('<think>\nHm')).toEqual([{ type: 'reasoning', text: 'Hm' }]);
    expect(parser.push('.\n')).toEqual([{ type: 'reasoning', text: '.' }]);
    expect(parser.push('So')).toEqual([{ type: 'reasoning', text: '\nSo' }]);
    expect(parser.push('\n</think>\n')).toEqual([]);
    expect(parser.push('\nHi')).toEqual([{ type: 'content', text: 'Hi' }]);
  });
});

describe('what is known before', () => {
  it('is told by the template and the prompt', () => {
    const thinking = ['qwen3.jinja', 'thinking-r1.jinja', 'thinking-switch.jinja'];
    for (const name of thinking) expect(detectReasoning(readTemplate(name))).toBe(true);
    for (const name of ['qwen2.5.jinja', 'llama3.jinja']) expect(detectReasoning(readTemplate(name))).toBe(false);
    expect(reasoningBlockAfter('<|im_start|>assistant\n<think>\n')).toBe('open');
    expect(reasoningBlockAfter('<|im_start|>assistant\n')).toBe('closed');
    expect(reasoningBlockAfter('<|im_start|>assistant\n<think>\n\n</think>\n\n')).toBe('closed');
  });
});
