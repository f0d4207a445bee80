import { describe, expect, it } from 'vitest';
import { jinja2, readTemplate } from '../__fixtures__/jinja2.ts';
import { parseTemplate } from './parse-template.ts';
import { type RenderInput, render } from './render.ts';

const now = new Date(jinja2.now).getTime(); // local time, as the reference took it
const defaults: RenderInput = {
  variables: '{}',
  trusted: {},
  specialTokens: [],
  continueFinalMessage: false,
  now,
  maxOutput: 100_000,
};

const renderText = (source: string, input: Partial<RenderInput>) =>
  render(parseTemplate(source, 'test'), { ...defaults, ...input });

describe(`templates print what ${jinja2.reference} prints`, () => {
  it.each(jinja2.snippets)('$source', ({ source, text, error, isLenient }) => {
    const ours = () => renderText(source, { variables: jinja2.data }).text;
    if (text !== undefined) expect(ours()).toBe(text);
    else if (isLenient) expect(ours).not.toThrow();
    else if (error?.startsWith('TemplateError: ')) expect(ours).toThrow(error.slice('TemplateError: '.length));
    else expect(ours).toThrow(/The chat template cannot be rendered with these messages/);
  });
});

describe(`chats render as in ${jinja2.reference}`, () => {
  it.each(jinja2.chats)('$template: $title', ({ template, request, text, error }) => {
    const members = JSON.parse(request);
    const more = ['tools', 'documents'].filter((name) => !(name in members)).map((name) => `"${name}":null,`);
    const generation = 'add_generation_prompt' in members ? '' : '"add_generation_prompt":false,';
    // Spliced as text, because parsing would lose 1.0 and the large number.
    const variables = `{${more.join('')}${generation}${request.slice(1)}`;
    const trusted = { bos_token: '<s>', eos_token: '</s>' };
    const ours = () => renderText(readTemplate(template), { variables, trusted }).text;
    if (text !== undefined) expect(ours()).toBe(text);
    else expect(ours).toThrow(error?.replace(/^\w+: /, ''));
  });
});
