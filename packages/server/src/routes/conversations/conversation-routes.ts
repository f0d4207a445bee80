import type { ConversationStore } from '@hearth/conversations';
import { z } from 'zod';
import { parseQuery } from '../../http/parse-request.ts';
import { deleteRoute, getRoute, patchRoute, postRoute, type Route } from '../../http/route.ts';
import { changesBody, conversationChanges, newConversationBody, pageQuery } from './conversation-fields.ts';
import { conversationJson, conversationSchema, pageSchema, summaryJson, summarySchema } from './conversation-json.ts';
import { messageRoutes } from './message-routes.ts';
import { conversationErrors, storeErrors } from './store-errors.ts';

const path = '/v1/conversations';
const tag = 'Conversations';

/** Conversations of a store. Each call is one transaction of a few milliseconds, so it is made where the request is answered. */
export function conversationRoutes(store: ConversationStore): readonly Route[] {
  return [
    getRoute({
      path,
      tag,
      summary: 'List conversations, the last changed first, or search them',
      query: pageQuery,
      responses: { 200: [{ description: 'A page of them, without messages.', schema: pageSchema }] },
      errors: { ...storeErrors, 400: 'A field is wrong; the error names it.' },
      handle: async ({ request, signal }) => {
        const { search, ...page } = parseQuery(request, pageQuery);
        const found = search === undefined ? store.list(page) : await store.search(search, { ...page, signal });
        const { conversations, next = null } = found;
        return Response.json({ object: 'list', data: conversations.map(summaryJson), next });
      },
    }),
    postRoute({
      path,
      tag,
      summary: 'Create a conversation',
      body: newConversationBody,
      example: {
        title: 'Sums',
        model: 'smollm2:135m',
        system_prompt: 'Be short.',
        settings: { temperature: 0 },
        messages: [{ role: 'user', content: '2 + 2?' }],
      },
      responses: { 200: [{ description: 'The conversation.', schema: conversationSchema }] },
      errors: storeErrors,
      handle: async (_, { fields: { messages, ...fields } }) => {
        const created = store.create({ ...conversationChanges(fields), messages: messages ?? [] });
        return Response.json(conversationJson(created));
      },
    }),
    getRoute({
      path: `${path}/:id`,
      tag,
      summary: 'Read a conversation with its messages',
      responses: { 200: [{ description: 'The conversation.', schema: conversationSchema }] },
      errors: conversationErrors,
      handle: async ({ params }) => Response.json(conversationJson(store.get(params.id ?? ''))),
    }),
    patchRoute({
      path: `${path}/:id`,
      tag,
      summary: 'Change the fields of a conversation that are given',
      body: changesBody,
      example: { title: 'Four' },
      responses: { 200: [{ description: 'The conversation, without messages.', schema: summarySchema }] },
      errors: conversationErrors,
      handle: async ({ params }, { fields }) =>
        Response.json(summaryJson(store.update(params.id ?? '', conversationChanges(fields)))),
    }),
    deleteRoute({
      path: `${path}/:id`,
      tag,
      summary: 'Delete a conversation with its messages',
      responses: { 200: [{ description: 'It is gone.', schema: deletedSchema }] },
      errors: conversationErrors,
      handle: async ({ params: { id = '' } }) => {
        store.delete(id);
        return Response.json({ id, object: 'conversation.deleted', deleted: true });
      },
    }),
    ...messageRoutes(store, { path, tag }),
  ];
}

const deletedSchema = z.object({
  id: z.string(),
  object: z.literal('conversation.deleted'),
  deleted: z.literal(true),
});
