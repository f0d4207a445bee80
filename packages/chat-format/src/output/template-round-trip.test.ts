import { afterEach, expect, it } from 'vitest';
import { readTemplate } from '../__fixtures__/jinja2.ts';
import { countingIds, parse } from '../__fixtures__/outputs.ts';
import { type ChatTemplate, loadChatTemplate } from '../chat-template.ts';
import { collectOutput } from './output-events.ts';
import { toolCallGrammar } from './tool-call-grammar.ts';
import { detectToolCallStyle } from './tool-call-style.ts';

const open: ChatTemplate[] = [];
afterEach(() => Promise.all(open.splice(0).map((template) => template.dispose())));

/** The answer as the template writes it into the history: what models of its family were taught to write. */
async function writeAnswer(source: string, endOfTurn: string, content: string, calls: [name: string, args: string][]) {
  const template = await loadChatTemplate({ origin: 'test', template: source });
  open.push(template);
  const question = { role: 'user', content: 'Hi' };
  const toolCalls = calls.map(([name, args]) => ({ type: 'function', function: { name, arguments: args } }) as const);
  const before = await template.render({ messages: [question], addGenerationPrompt: true });
  const after = await template.render({ messages: [question, { role: 'assistant', content, tool_calls: toolCalls }] });
  expect(after.text.startsWith(before.text)).toBe(true);
  const answer = after.text.slice(before.text.length);
  return answer.slice(0, answer.indexOf(endOfTurn));
}

const args = '{"city": "Zürich <b>", "days": [1, 2.0], "note": "}\\n\\""}';

it.each<[template: string, endOfTurn: string, content: string, numCalls: number]>([
  ['qwen2.5.jinja', '<|im_end|>', '', 2],
  ['qwen2.5.jinja', '<|im_end|>', 'Let me see.', 1],
  ['qwen3.jinja', '<|im_end|>', '', 1],
  ['qwen3.jinja', '<|im_end|>', 'Let me see.', 2],
  ['llama3.jinja', '<|eot_id|>', '', 1],
  ['llama3-tools.jinja', '<|eot_id|>', '', 1],
])('calls that %s writes are read as they were, and forced calls look the same', async (name, end, content, count) => {
  const source = readTemplate(name);
  const toolCallStyle = detectToolCallStyle(source);
  if (toolCallStyle === undefined) throw new Error('The template must have a style.');
  const calls = Array.from({ length: count }, (): [string, string] => ['forecast', args]);
  const answer = await writeAnswer(source, end, content, calls);

  const options = { reasoning: 'closed', toolCallStyle, toolNames: ['forecast'], createCallId: countingIds() } as const;
  expect(collectOutput(parse(answer, options))).toEqual({
    content,
    reasoning: '',
    toolCalls: calls.map(([tool, text], index) => ({ id: `call_${index}`, name: tool, arguments: text })),
  });

  const tool = { type: 'function', function: { name: 'forecast' } } as const;
  const { alternatives, separator = '' } = toolCallGrammar(toolCallStyle, [tool], 'required', { parallel: true });
  const forced = alternatives.map(({ prefix, suffix }) => prefix + args + suffix).join('');
  expect(answer.trimStart().endsWith(Array.from({ length: count }, () => forced).join(separator))).toBe(true);
});
