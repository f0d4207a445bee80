import { z } from 'zod';

const status = z.enum(['in_progress', 'completed', 'incomplete']);

const tokenLogprob = { token: z.string(), logprob: z.number(), bytes: z.array(z.int()) };

const outputText = z.object({
  type: z.literal('output_text'),
  text: z.string(),
  annotations: z.array(z.never()),
  logprobs: z.array(z.object({ ...tokenLogprob, top_logprobs: z.array(z.object(tokenLogprob)) })),
});

const reasoningText = z.object({ type: z.literal('reasoning_text'), text: z.string() });

const reasoningItem = z.object({
  id: z.string(),
  type: z.literal('reasoning'),
  summary: z.array(z.never()),
  content: z.array(reasoningText),
  status,
});

const messageItem = z.object({
  id: z.string(),
  type: z.literal('message'),
  role: z.literal('assistant'),
  status,
  content: z.array(outputText),
});

const callItem = z.object({
  id: z.string(),
  type: z.literal('function_call'),
  call_id: z.string(),
  name: z.string(),
  arguments: z.string().meta({ description: 'JSON text of an object, once the call is completed.' }),
  status,
});

const outputItem = z.discriminatedUnion('type', [messageItem, callItem, reasoningItem]);

const responseUsage = z.object({
  input_tokens: z.int(),
  input_tokens_details: z.object({ cached_tokens: z.int() }),
  output_tokens: z.int(),
  output_tokens_details: z.object({ reasoning_tokens: z.int() }),
  total_tokens: z.int(),
});

const json = z.unknown();

export const responseSchema = z
  .object({
    id: z.string(),
    object: z.literal('response'),
    created_at: z.int(),
    status: z.enum(['in_progress', 'completed', 'incomplete', 'failed']),
    background: z.literal(false),
    error: z.object({ code: z.string(), message: z.string() }).nullable(),
    incomplete_details: z.object({ reason: z.literal('max_output_tokens') }).nullable(),
    instructions: z.string().nullable(),
    max_output_tokens: z.int().nullable(),
    model: z.string(),
    output: z.array(outputItem),
    parallel_tool_calls: z.boolean(),
    previous_response_id: z.null(),
    reasoning: z.object({ effort: z.string().nullable(), summary: z.null() }),
    store: z.literal(false),
    temperature: z.number().nullable(),
    text: z.object({ format: json }),
    tool_choice: json,
    tools: z.array(json),
    top_logprobs: z.int(),
    top_p: z.number().nullable(),
    truncation: z.literal('disabled'),
    usage: responseUsage.nullable(),
    user: z.string().nullable(),
    metadata: json,
  })
  .meta({ id: 'Response' });

const eventTypes = [
  'response.created',
  'response.in_progress',
  'response.output_item.added',
  'response.output_item.done',
  'response.content_part.added',
  'response.content_part.done',
  'response.output_text.delta',
  'response.output_text.done',
  'response.reasoning_text.delta',
  'response.reasoning_text.done',
  'response.function_call_arguments.delta',
  'response.function_call_arguments.done',
  'response.completed',
  'response.incomplete',
  'response.failed',
] as const;

/** What an event has besides depends on its type, as OpenAI describes it. */
export const responseEventSchema = z
  .looseObject({
    type: z.enum(eventTypes),
    sequence_number: z.int().meta({ description: 'Counts the events of one answer from 0.' }),
    response: responseSchema.optional(),
    item: outputItem.optional(),
    part: z.discriminatedUnion('type', [outputText, reasoningText]).optional(),
    item_id: z.string().optional(),
    output_index: z.int().optional(),
    content_index: z.int().optional(),
    delta: z.string().optional(),
  })
  .meta({ id: 'ResponseEvent' });

export type ResponseAnswer = z.output<typeof responseSchema>;
export type OutputItem = z.output<typeof outputItem>;
export type MessageItem = z.output<typeof messageItem>;
export type ReasoningItem = z.output<typeof reasoningItem>;
export type CallItem = z.output<typeof callItem>;
export type OutputText = z.output<typeof outputText>;
/** Without its number in the stream. */
export type ResponseEvent = { readonly type: (typeof eventTypes)[number] } & Readonly<Record<string, unknown>>;
