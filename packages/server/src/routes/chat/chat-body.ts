import type { LosslessJson } from '@hearth/chat-format';
import { z } from 'zod';
import { conversationField } from '../../fields/conversation.ts';
import { checkStreamOptions, generationFields, generationOptions } from '../../fields/generation-fields.ts';
import { messagesField } from '../../fields/messages.ts';
import { reasoningBudgetField, reasoningEffortField } from '../../fields/reasoning-fields.ts';
import { refusedChatFields } from '../../fields/refused-fields.ts';
import { responseFormatField, structuredOutputsField } from '../../fields/response-format.ts';
import { flag, wholeFrom } from '../../fields/scalars.ts';
import { checkTemplateFields, templateFields, templateOptions } from '../../fields/template-fields.ts';
import { checkToolChoice, toolChoiceField, toolChoiceOf, toolsField } from '../../fields/tools.ts';
import type { ChatRequest } from '../../generation/start-chat.ts';
import type { RequestBody } from '../../http/route.ts';

const fields = z.object({
  messages: messagesField,
  ...generationFields,
  ...templateFields,
  max_completion_tokens: wholeFrom(0, Number.MAX_SAFE_INTEGER, 'The newer name of max_tokens.'),
  logprobs: flag('Answer the log-probabilities of the tokens, too. Default: false.'),
  top_logprobs: wholeFrom(0, 20, 'How many of the most probable tokens to name in each place; needs logprobs.'),
  tools: toolsField,
  tool_choice: toolChoiceField,
  parallel_tool_calls: flag(
    'Whether several tools may be called at once. Default: true, but one when a call is required.',
  ),
  response_format: responseFormatField,
  structured_outputs: structuredOutputsField,
  reasoning_effort: reasoningEffortField,
  reasoning_budget: reasoningBudgetField,
  conversation: conversationField
    .meta({ description: 'Whose draft was sent to /v1/compose: what was computed of it is not computed again.' })
    .nullish(),
  ...refusedChatFields,
});

/** Body of POST /v1/chat/completions. */
export const chatBody = fields
  .superRefine((body, context) => {
    checkStreamOptions(body, context);
    checkTemplateFields(body, context);
    checkToolChoice(body, toolChoiceOf(body.tools, body.tool_choice), context);
    const { max_tokens: old, max_completion_tokens: most } = body;
    if (typeof old === 'number' && typeof most === 'number' && old !== most) {
      const message = `is ${most}, but max_tokens is ${old}; give one of them`;
      context.addIssue({ code: 'custom', path: ['max_completion_tokens'], message });
    }
    if (body.top_logprobs && !body.logprobs) {
      context.addIssue({ code: 'custom', path: ['top_logprobs'], message: 'is only allowed when logprobs is true' });
    }
  })
  .meta({ id: 'ChatCompletionRequest' });

export type ChatBody = RequestBody<z.output<typeof chatBody>>;

/** What the body asks for. Templates get the values as they came. */
export function readChatBody({ fields, json }: ChatBody): ChatRequest {
  return {
    messages: json.messages as readonly Readonly<Record<string, LosslessJson>>[],
    tools: fields.tools ?? [],
    toolsForTemplate: (json.tools ?? []) as readonly LosslessJson[],
    toolChoice: toolChoiceOf(fields.tools, fields.tool_choice),
    parallelCalls: fields.parallel_tool_calls ?? undefined,
    format: fields.response_format,
    formatField: 'response_format',
    structured: fields.structured_outputs,
    reasoningEffort: fields.reasoning_effort,
    effortField: 'reasoning_effort',
    reasoningBudget: fields.reasoning_budget ?? undefined,
    ...templateOptions(fields, json),
    generate: {
      ...generationOptions(fields),
      maxTokens: fields.max_completion_tokens ?? fields.max_tokens ?? undefined,
      logprobs: fields.logprobs ? (fields.top_logprobs ?? 0) : undefined,
    },
    count: fields.n ?? 1,
    cacheSalt: fields.cache_salt ?? undefined,
    conversation: fields.conversation ?? undefined,
  };
}
