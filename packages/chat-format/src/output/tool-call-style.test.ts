import { expect, it } from 'vitest';
import { readTemplate } from '../__fixtures__/jinja2.ts';
import { detectToolCallStyle, type ToolCallStyle } from './tool-call-style.ts';

it.each<[template: string, style: ToolCallStyle | undefined]>([
  ['qwen2.5.jinja', 'hermes'],
  ['qwen3.jinja', 'hermes'],
  ['llama3.jinja', 'llama3'],
  ['llama3-tools.jinja', 'llama3'],
  ['llama2.jinja', undefined],
  ['mistral.jinja', undefined],
  ['gemma.jinja', undefined],
  ['smollm2.jinja', undefined],
  ['phi4-mini.jinja', undefined],
  ['xml-tools.jinja', undefined],
])('tells the style of %s', (template, style) => {
  expect(detectToolCallStyle(readTemplate(template))).toBe(style);
});

it('is not misled by XML between the same markers', () => {
  const xml =
    "{{ '<tool_call>\\n<function=' + tool_call.name + '>\\n<parameter=' }}{% set arguments = tool_call.arguments %}";
  expect(detectToolCallStyle(xml)).toBeUndefined();
});

it('reads the example of a Hermes template, which is all there is of its calls', () => {
  const example = '{{- \'{"arguments": <args-dict>, "name": <function-name>}\\n\' }}{{- "<tool_call>\\n" }}';
  expect(detectToolCallStyle(example)).toBe('hermes');
});
