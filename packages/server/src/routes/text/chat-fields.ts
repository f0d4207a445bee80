import type { ChatMessage, LosslessJson } from '@hearth/chat-format';
import type { RenderChatOptions } from '@hearth/engine';
import { z } from 'zod';
import { flag } from '../../fields/scalars.ts';
import { badRequest } from '../../http/api-error.ts';
import type { RequestBody } from '../../http/route.ts';

const object = z.record(z.string(), z.unknown(), { error: 'must be an object' });

export const messagesField = z
  .array(object, { error: 'must be a list of messages' })
  .min(1, { error: 'must hold at least one message' })
  .meta({ description: 'A conversation, as for chat completions.' });

/** What decides how a conversation becomes a prompt, besides its messages. */
export const renderFields = {
  tools: z.array(object, { error: 'must be a list of tools' }).meta({ description: 'Tools of the chat.' }).nullish(),
  add_generation_prompt: flag(
    "End with the beginning of the assistant's turn. Default: true, but not with continue_final_message.",
  ),
  continue_final_message: flag('End within the last message, for the model to go on with it. Default: false.'),
  chat_template_kwargs: object
    .meta({ description: 'More variables of the template, such as enable_thinking.' })
    .nullish(),
};

const renderSchema = z.object(renderFields);

/** A conversation as the template takes it. */
export interface ChatToRender {
  readonly messages: readonly ChatMessage[];
  readonly options: RenderChatOptions & { readonly addGenerationPrompt: boolean };
}

/**
 * Reads a conversation from a body. Templates get the values as they came, `1.0` as `1.0`.
 * @throws ApiError 400 when the last turn is to be gone on with and a new one begun
 */
export function chatToRender({ fields, json }: RequestBody<z.output<typeof renderSchema>>): ChatToRender {
  const continueFinalMessage = fields.continue_final_message ?? false;
  const addGenerationPrompt = fields.add_generation_prompt ?? !continueFinalMessage;
  if (continueFinalMessage && addGenerationPrompt) {
    throw badRequest(
      'continue_final_message',
      'continue_final_message and add_generation_prompt exclude each other: a turn either begins or goes on.',
    );
  }
  return {
    messages: json.messages as unknown as readonly ChatMessage[],
    options: {
      addGenerationPrompt,
      continueFinalMessage,
      tools: fields.tools && (json.tools as readonly unknown[]),
      variables: fields.chat_template_kwargs ? (json.chat_template_kwargs as Record<string, LosslessJson>) : undefined,
    },
  };
}
