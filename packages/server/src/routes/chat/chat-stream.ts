import type { OutputEvent } from '@hearth/chat-format';
import { z } from 'zod';
import type { AnswerHead } from '../../generation/answer-head.ts';
import { inOrderOfArrival } from '../../generation/in-order-of-arrival.ts';
import type { StartedChoice } from '../../generation/start-chat.ts';
import { type EndedChoice, usageOf, usageSchema } from '../../generation/usage.ts';
import { JsonEvent } from '../../http/json-event.ts';
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
type Chunk = z.output<typeof chatChunkSchema>;

/** The chunks of an answer. Those of its texts come as they are made; the role first, then what was written, then the end. */
export async function* chatChunks(
  context: RequestContext,
  head: AnswerHead,
  started: readonly StartedChoice[],
  includeUsage: boolean,
): AsyncGenerator<JsonEvent> {
  const write = new ChunkWriter(head, includeUsage);
  const ended: EndedChoice[] = [];
  yield* inOrderOfArrival(
    started.map((choice, index) => choiceChunks(write, choice, index, (end) => (ended[index] = end))),
  );
  const usage = usageOf(context, ended);
  if (includeUsage) yield write.usage(usage);
}

async function* choiceChunks(
  write: ChunkWriter,
  { generation, reader }: StartedChoice,
  index: number,
  onEnd: (end: EndedChoice) => void,
): AsyncGenerator<JsonEvent> {
  yield write.delta(index, { role: 'assistant' });
  for await (const token of generation) {
    for (const event of reader.push(token)) {
      const delta = deltaOf(event);
      if (delta) yield write.delta(index, delta, logprobsOf(reader));
    }
  }
  const result = await generation.result;
  for (const event of reader.finish(result)) {
    const delta = deltaOf(event);
    if (delta) yield write.delta(index, delta, logprobsOf(reader));
  }
  const { numReasoningTokens } = reader;
  onEnd({ result, numReasoningTokens });
  const rest = logprobsOf(reader);
  yield write.delta(index, {}, rest?.content.length ? rest : null, reader.finishReason(result));
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

/** Writes chunks as JSON, of which most is the same for all of an answer. */
class ChunkWriter {
  readonly #beginning: string;
  readonly #end: string;

  constructor({ id, created, model, fingerprint }: AnswerHead, includeUsage: boolean) {
    const head = { id, object: 'chat.completion.chunk', created, model, system_fingerprint: fingerprint };
    this.#beginning = `${JSON.stringify(head).slice(0, -1)},"choices":[`;
    this.#end = includeUsage ? '],"usage":null}' : ']}';
  }

  delta(
    index: number,
    delta: Delta,
    logprobs: Chunk['choices'][0]['logprobs'] = null,
    reason: Chunk['choices'][0]['finish_reason'] = null,
  ): JsonEvent {
    const choice = `{"index":${index},"delta":${JSON.stringify(delta)},"logprobs":${JSON.stringify(logprobs)},"finish_reason":${JSON.stringify(reason)}}`;
    return new JsonEvent(this.#beginning + choice + this.#end);
  }

  usage(usage: NonNullable<Chunk['usage']>): JsonEvent {
    return new JsonEvent(`${this.#beginning}],"usage":${JSON.stringify(usage)}}`);
  }
}
