import { serve } from '@hearth/bounded-worker';
import type { ChatTemplateSource } from './choose-chat-template.ts';
import type { Statement } from './interpreter/runtime-values.ts';
import { parseTemplate } from './template/parse-template.ts';
import { type RenderInput, render } from './template/render.ts';

/** Which of the two templates of a model to render. */
export type TemplateChoice = 'template' | 'toolTemplate';

/** Methods of the thread that renders; its init value is the source. A syntax error ends the start. */
function createMethods(source: ChatTemplateSource) {
  const parsed: Partial<Record<TemplateChoice, Statement>> = {};
  for (const choice of ['template', 'toolTemplate'] as const) {
    const text = source[choice];
    if (text !== undefined) parsed[choice] = parseTemplate(text, source.origin);
  }
  return {
    render: ({ choice, input }: { choice: TemplateChoice; input: RenderInput }) =>
      render(parsed[choice] as Statement, input),
    /** Answers when the templates are parsed. */
    ready: () => true,
  };
}

export type RenderMethods = ReturnType<typeof createMethods>;

serve<ChatTemplateSource, RenderMethods>(createMethods);
