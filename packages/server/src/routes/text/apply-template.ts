import { z } from 'zod';
import { flag, text } from '../../fields/scalars.ts';
import { postRoute } from '../../http/route.ts';
import { chatToRender, messagesField, renderFields } from './chat-fields.ts';

const applyTemplateBody = z
  .looseObject({
    model: text('Default: the first one.'),
    messages: messagesField,
    ...renderFields,
    return_tokens: flag('Answer the token ids of the prompt, too. Default: false.'),
  })
  .meta({ id: 'ApplyTemplateRequest' });

const appliedTemplate = z
  .object({
    prompt: z.string().meta({ description: 'The text that the model would be given, control words written out.' }),
    tokens: z.array(z.int()).optional(),
  })
  .meta({ id: 'AppliedTemplate' });

/** The exact prompt of a conversation, without an answer to it. */
export const applyTemplateRoute = postRoute({
  path: '/apply-template',
  tag: 'Text',
  summary: 'Turn messages into the prompt that the model would be given',
  body: applyTemplateBody,
  responses: { 200: [{ description: 'The prompt.', schema: appliedTemplate }] },
  handle: async (context, body) => {
    const { model } = await context.useModel(body.fields.model);
    const { messages, options } = chatToRender(body);
    const { signal } = context;
    // It throws the reason why there is no template that works.
    if (!model.chatTemplate) return Response.json({ tokens: await model.renderChat(messages, options) });
    const { text: prompt, segments } = await model.chatTemplate.render({ ...options, messages, signal });
    if (!body.fields.return_tokens) return Response.json({ prompt });
    const tokens = await model.tokenizer.encodeSegments(segments, { signal });
    return Response.json({ prompt, tokens: [...tokens] });
  },
});
