import { collectOutput, type OutputEvent } from '@hearth/chat-format';
import { z } from 'zod';
import type { AnswerHead } from '../../generation/answer-head.ts';
import type { StartedChoice } from '../../generation/start-chat.ts';
import type { TextLogprob } from '../../generation/text-logprobs.ts';
import { type EndedChoice, usageOf, usageSchema } from '../../generation/usage.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { chatLogprobs, chatLogprobsSchema } from './chat-logprobs.ts';

export const finishReasonSchema = z.enum(['stop', 'length', 'tool_calls']);

const toolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string().meta({ description: 'JSON text of an object.' }) }),
});

const choiceSchema = z.object({
  index: z.int(),
  message: z.object({
    role: z.literal('assistant'),
    content: z.string().nullable(),
    refusal: z.null(),
    reasoning_content: z.string().optional().meta({ description: 'What the model thought before it answered.' }),
    tool_calls: z.array(toolCall).optional(),
  }),
  logprobs: chatLogprobsSchema.nullable(),
  finish_reason: finishReasonSchema,
});

export const chatAnswerSchema = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion'),
    created: z.int(),
    model: z.string(),
    system_fingerprint: z.string(),
    choices: z.array(choiceSchema),
    usage: usageSchema,
  })
  .meta({ id: 'ChatCompletion' });

/** A whole answer, when all its texts have ended. */
export async function chatAnswer(
  context: RequestContext,
  { id, created, model, fingerprint }: AnswerHead,
  started: readonly StartedChoice[],
): Promise<z.output<typeof chatAnswerSchema>> {
  const choices = await Promise.all(started.map(readChoice));
  return {
    id,
    object: 'chat.completion',
    created,
    model,
    system_fingerprint: fingerprint,
    choices: choices.map(({ choice }) => choice),
    usage: usageOf(context, choices),
  };
}

async function readChoice(
  { generation, reader }: StartedChoice,
  index: number,
): Promise<EndedChoice & { readonly choice: z.output<typeof choiceSchema> }> {
  const events: OutputEvent[] = [];
  const logprobs: TextLogprob[] = [];
  for await (const delta of generation) {
    events.push(...reader.push(delta));
    logprobs.push(...(reader.takeLogprobs() ?? []));
  }
  const result = await generation.result;
  events.push(...reader.finish(result));
  const last = reader.takeLogprobs();
  const { content, reasoning, toolCalls } = collectOutput(events);
  const choice = {
    index,
    message: {
      role: 'assistant' as const,
      content: content === '' && toolCalls.length > 0 ? null : content,
      refusal: null,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(toolCalls.length > 0 && {
        tool_calls: toolCalls.map(({ id, name, arguments: text }) => ({
          id,
          type: 'function' as const,
          function: { name, arguments: text },
        })),
      }),
    },
    logprobs: last ? chatLogprobs([...logprobs, ...last]) : null,
    finish_reason: reader.finishReason(result),
  };
  return { choice, result, numReasoningTokens: reader.numReasoningTokens };
}
