import type { OutputEvent } from '@hearth/chat-format';
import { z } from 'zod';
import type { AnswerHead } from '../../generation/answer-head.ts';
import { ChunkWriter } from '../../generation/chunk-writer.ts';
import { inOrderOfArrival } from '../../generation/in-order-of-arrival.ts';
import type { StartedChoice } from '../../generation/start-chat.ts';
import { type EndedChoice, usageOf, usageSchema } from '../../generation/usage.ts';
import type { JsonEvent } from '../../http/json-event.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { finishReasonSchema } from './chat-answer.ts';
import { chatLogprobs, chatLogprobsSchema } from './chat-logprobs.ts';

const delta = z.object({
  role: z.literal('assistant').optional(),
  content: z.string().optional(),
  reasoning_content: z.string().optional(),
  tool_calls: z
    .array(
      z.object({
        index: z.int(),
        id: z.string().optional(),
        type: z.literal('function').optional(),
        function: z.object({ name: z.string().optional(), arguments: z.string() }),
      }),
    )
    .optional(),
});

export const chatChunkSchema = z
  .object({
    id: z.string(),
    object: z.literal('chat.completion.chunk'),
    created: z.int(),
    model: z.string(),
    system_fingerprint: z.string(),
    choices: z.array(
      z.object({
        index: z.int(),
        delta,
        logprobs: chatLogprobsSchema.nullable(),
        finish_reason: finishReasonSchema.nullable(),
      }),
    ),
    usage: usageSchema.nullish(),
  })
  .meta({ id: 'ChatCompletionChunk' });

type Delta = z.output<typeof delta>;
type Choice = z.output<typeof chatChunkSchema>['choices'][0];

/** The chunks of an answer. Those of its texts come as they are made; the role first, then what was written, then the end. */
export async function* chatChunks(
  context: RequestContext,
  { id, created, model, fingerprint }: AnswerHead,
  started: readonly StartedChoice[],
  includeUsage: boolean,
): AsyncGenerator<JsonEvent> {
  const head = { id, object: 'chat.completion.chunk', created, model, system_fingerprint: fingerprint };
  const write = new ChunkWriter<Choice>(head, includeUsage);
  const ended: EndedChoice[] = [];
  yield* inOrderOfArrival(
    started.map((choice, index) => choiceChunks(write, choice, index, (end) => (ended[index] = end))),
  );
  const usage = usageOf(context, ended);
  if (includeUsage) yield write.usage(usage);
}

async function* choiceChunks(
  write: ChunkWriter<Choice>,
  { generation, reader }: StartedChoice,
  index: number,
  onEnd: (end: EndedChoice) => void,
): AsyncGenerator<JsonEvent> {
  const chunk = (delta: Delta, logprobs: Choice['logprobs'] = null, reason: Choice['finish_reason'] = null) =>
    write.choice({ index, delta, logprobs, finish_reason: reason });
  yield chunk({ role: 'assistant' });
  for await (const token of generation) {
    for (const event of reader.push(token)) {
      const delta = deltaOf(event);
      if (delta) yield chunk(delta, logprobsOf(reader));
    }
  }
  const result = await generation.result;
  for (const event of reader.finish(result)) {
    const delta = deltaOf(event);
    if (delta) yield chunk(delta, logprobsOf(reader));
  }
  const { numReasoningTokens } = reader;
  onEnd({ result, numReasoningTokens });
  const rest = logprobsOf(reader);
  yield chunk({}, rest?.content.length ? rest : null, reader.finishReason(result));
}

function logprobsOf(reader: StartedChoice['reader']) {
  const logprobs = reader.takeLogprobs();
  return logprobs ? chatLogprobs(logprobs) : null;
}

/** A call is announced with its name; its arguments follow. */
function deltaOf(event: OutputEvent): Delta | undefined {
  switch (event.type) {
    case 'content':
      return { content: event.text };
    case 'reasoning':
      return { reasoning_content: event.text };
    case 'toolCallStart': {
      const { index, id, name } = event;
      return { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] };
    }
    case 'toolCallArguments':
      return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] };
    default:
      return undefined;
  }
}
