import { z } from 'zod';
import { flag, text } from '../../fields/scalars.ts';
import { checkTemplateFields } from '../../fields/template-fields.ts';
import { postRoute } from '../../http/route.ts';
import { chatFields, promptOf } from './chat-fields.ts';

const applyTemplateBody = z
  .object({
    model: text('Default: the first one.'),
    ...chatFields,
    return_tokens: flag('Answer the token ids of the prompt, too. Default: false.'),
  })
  .superRefine(checkTemplateFields)
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
  example: { messages: [{ role: 'user', content: 'Why is the sky blue?' }] },
  responses: { 200: [{ description: 'The prompt.', schema: appliedTemplate }] },
  handle: async (context, body) => {
    const served = await context.useModel(body.fields.model);
    const { text: prompt, tokenIds } = await promptOf(served, body, context.signal);
    return Response.json({ prompt, ...(body.fields.return_tokens && { tokens: [...tokenIds] }) });
  },
});
