import { type Conversation, type ConversationSummary, messageRoles, type StoredMessage } from '@hearth/conversations';
import { z } from 'zod';

const seconds = (description: string) => z.int().meta({ description: `${description}, in seconds since 1970.` });
const object = z.record(z.string(), z.json());

export const messageSchema = z
  .object({
    id: z.string(),
    object: z.literal('conversation.message'),
    role: z.enum(messageRoles),
    content: z.string(),
    reasoning: z.string().nullable(),
    tool: z.json(),
    stats: object.nullable(),
    created_at: seconds('When it was stored'),
  })
  .meta({ id: 'ConversationMessage' });

const summaryFields = {
  id: z.string(),
  object: z.literal('conversation'),
  title: z.string(),
  model: z.string().nullable(),
  created_at: seconds('When it was created'),
  updated_at: seconds('When anything of it was last changed'),
};

export const summarySchema = z.object(summaryFields).meta({ id: 'ConversationSummary' });

export const conversationSchema = z
  .object({ ...summaryFields, system_prompt: z.string(), settings: object, messages: z.array(messageSchema) })
  .meta({ id: 'Conversation' });

export const pageSchema = z.object({
  object: z.literal('list'),
  data: z.array(summarySchema),
  next: z.string().nullable().meta({ description: 'Begins the next page, as `before`; null at the end.' }),
});

export function summaryJson({ id, title, model, createdAt, updatedAt }: ConversationSummary) {
  const times = { created_at: toSeconds(createdAt), updated_at: toSeconds(updatedAt) };
  return { id, object: 'conversation' as const, title, model, ...times };
}

export function conversationJson(conversation: Conversation) {
  const { systemPrompt, settings, messages } = conversation;
  return {
    ...summaryJson(conversation),
    system_prompt: systemPrompt,
    settings,
    messages: messages.map(messageJson),
  };
}

export function messageJson({ createdAt, ...message }: StoredMessage) {
  const { id, role, content, reasoning, tool, stats } = message;
  const object = 'conversation.message' as const;
  return { id, object, role, content, reasoning, tool, stats, created_at: toSeconds(createdAt) };
}

function toSeconds(milliseconds: number): number {
  return Math.floor(milliseconds / 1000);
}
