import type { LosslessJson } from '@hearth/chat-format';
import { z } from 'zod';
import { messagesField } from '../../fields/messages.ts';
import { templateFields, templateOptions } from '../../fields/template-fields.ts';
import { toolChoiceField, toolChoiceOf, toolsField } from '../../fields/tools.ts';
import { type ChatPrompt, renderChatPrompt } from '../../generation/chat-prompt.ts';
import type { RequestBody } from '../../http/route.ts';
import type { ServedModel } from '../../models/served-model.ts';

/** What decides how a conversation becomes a prompt, besides its messages: the same as for chat completions. */
export const renderFields = { ...templateFields, tools: toolsField, tool_choice: toolChoiceField };

/** A conversation to be rendered and nothing else. */
export const chatFields = { messages: messagesField, ...renderFields };

const renderSchema = z.object(renderFields);

/** The prompt that a chat completion of these fields would have. */
export function promptOf(
  served: ServedModel,
  { fields, json }: RequestBody<z.output<typeof renderSchema>>,
  signal: AbortSignal,
): Promise<ChatPrompt> {
  const { tools, tool_choice } = fields;
  const hasTools = tools && tools.length > 0 && toolChoiceOf(tools, tool_choice) !== 'none';
  return renderChatPrompt(served, {
    messages: json.messages as readonly Readonly<Record<string, LosslessJson>>[],
    tools: hasTools ? (json.tools as readonly LosslessJson[]) : null,
    ...templateOptions(fields, json),
    signal,
  });
}
