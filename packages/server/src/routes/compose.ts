import type { LosslessJson } from '@hearth/chat-format';
import { z } from 'zod';
import { type ComposePrompt, composePrompt } from '../compose/compose-prompt.ts';
import { conversationField } from '../fields/conversation.ts';
import { generationFields } from '../fields/generation-fields.ts';
import { earlierMessagesField } from '../fields/messages.ts';
import { wholeFrom } from '../fields/scalars.ts';
import { templateFields } from '../fields/template-fields.ts';
import { toolChoiceOf } from '../fields/tools.ts';
import { postRoute } from '../http/route.ts';
import { renderFields } from './text/chat-fields.ts';

const composeBody = z
  .object({
    model: generationFields.model,
    conversation: conversationField.meta({ description: "Name of the conversation, of the client's own choosing." }),
    messages: earlierMessagesField,
    draft: z
      .string({ error: 'must be a string' })
      .meta({ description: 'What the user has written of the next message so far.' }),
    revision: wholeFrom(
      0,
      Number.MAX_SAFE_INTEGER,
      'Of drafts of one conversation, the one of the highest revision counts, whenever it comes. Default: the one that comes last.',
    ),
    tools: renderFields.tools,
    tool_choice: renderFields.tool_choice,
    chat_template_kwargs: templateFields.chat_template_kwargs,
    cache_salt: generationFields.cache_salt,
  })
  .meta({ id: 'ComposeRequest' });

const composition = z
  .object({
    object: z.literal('compose'),
    conversation: z.string(),
    model: z.string(),
    prompt_tokens: z.int().meta({ description: 'Of the conversation with the whole draft. 0 when superseded.' }),
    computed_tokens: z.int(),
    cached_tokens: z.int().meta({ description: 'Tokens that were there already.' }),
    held_back_tokens: z.int().meta({ description: 'Tokens of the unfinished end of the draft.' }),
    superseded: z.boolean().meta({ description: 'Whether something newer of the conversation has come.' }),
    milliseconds: z.number(),
  })
  .meta({ id: 'Composition' });

/** Computes a message while it is written. */
export const composeRoute = postRoute({
  path: '/v1/compose',
  tag: 'Text',
  isFrequent: true,
  summary: 'Compute a message while it is written, so that its answer begins sooner',
  body: composeBody,
  example: { conversation: 'c1', messages: [], draft: 'Why is the sky bl' },
  responses: {
    200: [{ description: 'The draft is computed, or something newer has taken its place.', schema: composition }],
  },
  handle: async (context, { fields, json }) => {
    const { conversation } = fields;
    const served = await context.useModel(fields.model);
    const hasTools = (fields.tools ?? []).length > 0 && toolChoiceOf(fields.tools, fields.tool_choice) !== 'none';
    let prompt: ComposePrompt | undefined;
    const done = await served.drafts.compose({
      conversation,
      cacheSalt: fields.cache_salt ?? '',
      revision: fields.revision ?? undefined,
      signal: context.signal,
      render: async (signal) => {
        const draft = {
          messages: json.messages as readonly Readonly<Record<string, LosslessJson>>[],
          draft: fields.draft,
          tools: hasTools ? (json.tools as readonly LosslessJson[]) : null,
          variables: (json.chat_template_kwargs ?? {}) as Readonly<Record<string, LosslessJson>>,
        };
        prompt = await composePrompt(served, draft, signal);
        return prompt;
      },
    });
    context.services.metrics.composed(served.name, done);
    const { numPromptTokens = 0, tokenIds = [] } = (done && prompt) ?? {};
    return Response.json({
      object: 'compose',
      conversation,
      model: served.name,
      prompt_tokens: numPromptTokens,
      computed_tokens: done?.computedTokens ?? 0,
      cached_tokens: done?.cachedTokens ?? 0,
      held_back_tokens: numPromptTokens - tokenIds.length,
      superseded: done === undefined,
      milliseconds: performance.now() - context.startedAt,
    } satisfies z.output<typeof composition>);
  },
});
