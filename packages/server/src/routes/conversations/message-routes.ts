import type { ConversationStore } from '@hearth/conversations';
import { z } from 'zod';
import { postRoute, putRoute, type Route } from '../../http/route.ts';
import { appendBody, replaceBody } from './conversation-fields.ts';
import { messageJson, messageSchema } from './conversation-json.ts';
import { conflict, conversationErrors } from './store-errors.ts';

/** Messages at the end of a conversation, and from a place on. */
export function messageRoutes(
  store: ConversationStore,
  { path, tag }: { readonly path: string; readonly tag: Route['tag'] },
): readonly Route[] {
  const errors = { ...conversationErrors, ...conflict };
  return [
    postRoute({
      path: `${path}/:id/messages`,
      tag,
      summary: 'Add a message to the end of a conversation',
      body: appendBody,
      example: { role: 'assistant', content: 'Four.', index: 1 },
      responses: { 200: [{ description: 'The message.', schema: messageSchema }] },
      errors,
      handle: async ({ params }, { fields: { index, ...message } }) => {
        const options = { index: index ?? undefined };
        return Response.json(messageJson(store.appendMessage(params.id ?? '', message, options)));
      },
    }),
    putRoute({
      path: `${path}/:id/messages/:index{[0-9]+}`,
      tag,
      summary: 'Put messages into the place of all from an index on, as after an edit',
      body: replaceBody,
      example: { messages: [{ role: 'assistant', content: 'It is four.' }] },
      responses: {
        200: [
          {
            description: 'The new messages.',
            schema: z.object({ object: z.literal('list'), data: z.array(messageSchema) }),
          },
        ],
      },
      errors,
      handle: async ({ params }, { fields: { messages } }) => {
        const stored = store.replaceFrom(params.id ?? '', Number(params.index), messages);
        return Response.json({ object: 'list', data: stored.map(messageJson) });
      },
    }),
  ];
}
