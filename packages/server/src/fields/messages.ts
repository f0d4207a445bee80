import { z } from 'zod';
import { refuseUnless } from './refused-fields.ts';

const mostMessages = 4096;
const mostToolCalls = 256;

/** Parts that a text model cannot take, by what people call them. */
const otherParts: Readonly<Record<string, string>> = {
  image_url: 'an image',
  input_image: 'an image',
  input_audio: 'sound',
  video_url: 'a video',
  file: 'a file',
  input_file: 'a file',
};

const argumentsError = 'must be JSON text or an object';

const toolCall = z.object(
  {
    id: z.string({ error: 'must be a string' }).max(256, { error: 'must have at most 256 characters' }).nullish(),
    type: z.literal('function', { error: 'must be "function"' }).nullish(),
    function: z.object(
      {
        name: z.string({ error: 'must be the name of a tool' }).min(1, { error: 'must be the name of a tool' }),
        arguments: z
          .union([z.string(), z.record(z.string(), z.unknown())], { error: argumentsError })
          .meta({ description: 'JSON text of an object, or the object.' }),
      },
      { error: 'must be an object with a name and arguments' },
    ),
  },
  { error: 'must be an object' },
);

/**
 * Text, or parts of text of these types. Checked by hand, as the errors of a union would not say which part is wrong.
 * Null and absent pass; whether they may stand there depends on what is around.
 */
export function contentField(partTypes: readonly [string, ...string[]]) {
  return z
    .unknown()
    .superRefine((value, context) => checkContent(value, partTypes, context))
    .optional()
    .meta({
      description: 'Text, or parts of text, which are joined with line feeds.',
      override: {
        anyOf: [
          { type: 'string' },
          {
            type: 'array',
            items: {
              type: 'object',
              required: ['type', 'text'],
              properties: { type: { enum: [...partTypes] }, text: { type: 'string' } },
            },
          },
          { type: 'null' },
        ],
      },
    });
}

function checkContent(value: unknown, partTypes: readonly [string, ...string[]], context: z.core.$RefinementCtx): void {
  const fail = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
  if (value === undefined || value === null || typeof value === 'string') return;
  if (!Array.isArray(value)) {
    fail([], 'must be a string or a list of text parts');
    return;
  }
  value.forEach((part: unknown, index) => {
    if (typeof part !== 'object' || part === null || Array.isArray(part)) {
      fail([index], 'must be an object with type and text');
      return;
    }
    const { type, text } = part as Record<string, unknown>;
    if (!partTypes.includes(type as string)) {
      const other = typeof type === 'string' && Object.hasOwn(otherParts, type) ? otherParts[type] : undefined;
      const what = other ? `, but this is ${other}` : '';
      fail([index, 'type'], `must be "${partTypes[0]}", since models here take text only${what}`);
    } else if (typeof text !== 'string') fail([index, 'text'], 'must be a string');
  });
}

const nothing = z.null({ error: 'is not supported, leave it out' }).optional();
const roleError = 'must be the name of a role, of at most 64 characters';

const messageSchema = z
  .object(
    {
      role: z
        .string({ error: roleError })
        .min(1, { error: roleError })
        .max(64, { error: roleError })
        .meta({ description: 'system, developer, user, assistant, tool, or what else the chat template has.' }),
      content: contentField(['text']),
      name: z.string({ error: 'must be a string' }).nullish(),
      tool_calls: z
        .array(toolCall, { error: 'must be a list' })
        .max(mostToolCalls, { error: `must have at most ${mostToolCalls} calls` })
        .nullish(),
      tool_call_id: z.string({ error: 'must be a string' }).nullish(),
      reasoning_content: z
        .string({ error: 'must be a string' })
        .meta({ description: 'What the model thought, for templates that show it.' })
        .nullish(),
      function_call: nothing,
      audio: nothing,
      refusal: nothing,
      // Where other servers are told to go on with the message; here it is continue_final_message.
      ...refuseUnless({ prefix: [false], partial: [false] }),
    },
    { error: 'must be an object with role and content' },
  )
  .superRefine((message, context) => {
    const calls = message.tool_calls ?? [];
    const isAssistant = message.role === 'assistant';
    if (calls.length > 0 && !isAssistant) {
      context.addIssue({ code: 'custom', path: ['tool_calls'], message: 'are for messages of the assistant only' });
    }
    const mayLackContent = isAssistant && (calls.length > 0 || typeof message.reasoning_content === 'string');
    if ((message.content ?? null) !== null || mayLackContent) return;
    context.addIssue({ code: 'custom', path: ['content'], message: 'must be a string or a list of text parts' });
  })
  .meta({ id: 'ChatMessage' });

function messageList(error: string) {
  return z
    .array(messageSchema, { error })
    .max(mostMessages, { error: `must have at most ${mostMessages} messages` })
    .meta({ description: 'The conversation, oldest message first.' });
}

const atLeastOne = 'must be a list of at least one message';

/** A conversation. Members of messages that are not named here reach the template, too. */
export const messagesField = messageList(atLeastOne).min(1, { error: atLeastOne });

/** A conversation that has perhaps not begun. */
export const earlierMessagesField = messageList('must be a list of messages');
