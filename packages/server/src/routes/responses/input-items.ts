import type { LosslessJson } from '@hearth/chat-format';
import { z } from 'zod';
import { contentField } from '../../fields/messages.ts';

const textParts = ['input_text', 'output_text', 'text'] as const;
const string = z.string({ error: 'must be a string' });
const callId = string.min(1, { error: 'must be the id of a call' });
const roleError = 'must be the name of a role, of at most 64 characters';

const contentError = 'must be a string or a list of text parts';

const message = z
  .object({
    type: z.literal('message').optional(),
    role: z.string({ error: roleError }).min(1, { error: roleError }).max(64, { error: roleError }),
    content: contentField(textParts),
  })
  .refine(({ content }) => (content ?? null) !== null, { path: ['content'], error: contentError });
const functionCall = z.object({
  type: z.literal('function_call'),
  call_id: callId,
  name: string.min(1, { error: 'must be the name of a tool' }),
  arguments: string.meta({ description: 'JSON text of an object.' }),
});
const functionCallOutput = z
  .object({ type: z.literal('function_call_output'), call_id: callId, output: contentField(textParts) })
  .refine(({ output }) => (output ?? null) !== null, { path: ['output'], error: contentError });
const reasoning = z.object({ type: z.literal('reasoning') });

const itemSchema = z.discriminatedUnion('type', [message, functionCall, functionCallOutput, reasoning], {
  error: (issue) =>
    issue.code === 'invalid_union'
      ? 'must be "message", "function_call", "function_call_output" or "reasoning"'
      : 'must be an object',
});

const inputError = 'must be a string, or a list of at least one item';

/** A text of the user, or a conversation with its calls. What the model thought in earlier turns is passed over. */
export const inputField = z.union([z.string(), z.array(itemSchema).min(1, { error: inputError })], {
  error: (issue) => (issue.code === 'invalid_union' ? inputError : undefined),
});

type Item = Readonly<Record<string, LosslessJson>>;
type Message = Record<string, LosslessJson>;

/** The conversation as chats have it. Calls belong to the message of the assistant before them. */
export function inputMessages(input: LosslessJson, instructions: string | null | undefined): Message[] {
  const messages: Message[] = instructions ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string') return [...messages, { role: 'user', content: input }];
  for (const item of input as Item[]) {
    switch (item.type) {
      case 'reasoning':
        break;
      case 'function_call': {
        const { call_id: id, name, arguments: text } = item as Record<string, string>;
        const call = { id: id!, type: 'function', function: { name: name!, arguments: text! } };
        const last = messages.at(-1);
        if (last?.role === 'assistant') last.tool_calls = [...((last.tool_calls ?? []) as LosslessJson[]), call];
        else messages.push({ role: 'assistant', content: null, tool_calls: [call] });
        break;
      }
      case 'function_call_output':
        messages.push({ role: 'tool', tool_call_id: item.call_id!, content: textContent(item.output) });
        break;
      default:
        messages.push({ role: item.role!, content: textContent(item.content) });
    }
  }
  return messages;
}

/** All types of parts that are text become the one that chats have. */
function textContent(content: LosslessJson | undefined): LosslessJson {
  if (!Array.isArray(content)) return content ?? null;
  return content.map((part) => ({ type: 'text', text: (part as Item).text! }));
}
