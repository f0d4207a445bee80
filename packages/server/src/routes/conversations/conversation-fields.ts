import { conversationLimits, messageRoles } from '@hearth/conversations';
import { z } from 'zod';
import { text } from '../../fields/scalars.ts';

function jsonObject(description: string) {
  return z.record(z.string(), z.json(), { error: 'must be an object' }).meta({ description }).nullish();
}

const messageFields = {
  role: z.enum(messageRoles, { error: `must be one of ${messageRoles.join(', ')}` }),
  content: z
    .string({ error: 'must be a string' })
    .max(conversationLimits.content, { error: `must have at most ${conversationLimits.content} characters` }),
  reasoning: text('What the model thought before it answered.', conversationLimits.reasoning),
  tool: z.json().nullish().meta({ description: 'Calls of tools, or the call that this is the result of.' }),
  stats: jsonObject('How the answer came about: tokens, times.'),
};

const newMessage = z.object(messageFields, { error: 'must be an object' }).meta({ id: 'NewConversationMessage' });

const messagesField = z
  .array(newMessage, { error: 'must be a list of messages' })
  .max(conversationLimits.messages, { error: `must have at most ${conversationLimits.messages} messages` });

const conversationFields = {
  title: text('What lists call it.', conversationLimits.title),
  model: text('The model that was last used for it; the empty text for none.', conversationLimits.model),
  system_prompt: text('The system message that it begins with.', conversationLimits.systemPrompt),
  settings: jsonObject('Of sampling, for one. The server does not look into it.'),
};

export const newConversationBody = z
  .object({ ...conversationFields, messages: messagesField.nullish() })
  .meta({ id: 'NewConversation' });

export const changesBody = z.object(conversationFields).meta({ id: 'ConversationChanges' });

export const appendBody = z
  .object({
    ...messageFields,
    index: z
      .int({ error: 'must be a whole number from 0' })
      .min(0, { error: 'must be a whole number from 0' })
      .meta({ description: 'The place that the message is to have; if it would get another, a 409.' })
      .nullish(),
  })
  .meta({ id: 'AppendMessage' });

export const replaceBody = z.object({ messages: messagesField }).meta({ id: 'ReplaceMessages' });

const pageError = `must be a whole number from 1 to ${conversationLimits.page}`;

export const pageQuery = z.object({
  limit: z.coerce
    .number({ error: pageError })
    .int({ error: pageError })
    .min(1, { error: pageError })
    .max(conversationLimits.page, { error: pageError })
    .optional()
    .meta({ description: 'Most conversations of the page. Default: 50.' }),
  before: z.string().optional().meta({ description: '`next` of the page before. Default: the first page.' }),
  search: z.string().optional().meta({ description: 'Only those of which the title or a message contains this text.' }),
});

/** What is null was not given. */
export function conversationChanges({ title, model, system_prompt, settings }: z.output<typeof changesBody>) {
  return {
    title: title ?? undefined,
    model: model ?? undefined,
    systemPrompt: system_prompt ?? undefined,
    settings: settings ?? undefined,
  };
}
