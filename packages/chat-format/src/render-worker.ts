import { serve } from '@hearth/bounded-worker';
import type { ChatTemplateSource } from './choose-chat-template.ts';
import type { Statement } from './interpreter/runtime-values.ts';
import { parseTemplate } from './template/parse-template.ts';
import { type RenderInput, render } from './template/render.ts';

/** Which of the two templates of a model to render. */
export type TemplateChoice = 'template' | 'toolTemplate';

/** Methods of the thread that renders; its init value is the source. */
function createMethods(source: ChatTemplateSource) {
  const parsed: Partial<Record<TemplateChoice, Statement>> = {};
  // Parsed within a call and not at the start, so that the time limit of calls holds for parsing too.
  const get = (choice: TemplateChoice): Statement => {
    parsed[choice] ??= parseTemplate(source[choice] ?? '', source.origin);
    return parsed[choice];
  };
  return {
    render: ({ choice, input }: { choice: TemplateChoice; input: RenderInput }) => render(get(choice), input),
    /** Parses the templates; a syntax error is thrown here, once. */
    parse: () => {
      get('template');
      get('toolTemplate');
      return true;
    },
  };
}

export type RenderMethods = ReturnType<typeof createMethods>;

serve<ChatTemplateSource, RenderMethods>(createMethods);
