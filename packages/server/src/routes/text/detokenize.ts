import { z } from 'zod';
import { text } from '../../fields/scalars.ts';
import { checkTokenIds, tokenIdsField } from '../../fields/token-ids.ts';
import { postRoute } from '../../http/route.ts';

/** Token ids to text. Control tokens are written out. */
export const detokenizeRoute = postRoute({
  path: '/detokenize',
  tag: 'Text',
  summary: 'Turn token ids into text',
  body: z
    .object({
      model: text('Default: the first one.'),
      tokens: tokenIdsField('The ids. Bytes that are no whole character become U+FFFD.'),
    })
    .meta({ id: 'DetokenizeRequest' }),
  example: { tokens: [72, 105] },
  responses: {
    200: [
      {
        description: 'The text, under both names that clients know it by.',
        schema: z.object({ content: z.string(), prompt: z.string() }).meta({ id: 'Detokenized' }),
      },
    ],
  },
  handle: async (context, { fields }) => {
    const { model } = await context.useModel(fields.model);
    checkTokenIds(fields.tokens, model.info.vocabSize, 'tokens');
    const content = model.tokenizer.decode(fields.tokens);
    return Response.json({ content, prompt: content });
  },
});
