import type { GenerateResult, Generation } from '@hearth/engine';
import { z } from 'zod';
import { inOrderOfArrival } from '../../generation/in-order-of-arrival.ts';
import { TextLogprobs } from '../../generation/text-logprobs.ts';
import { usageSchema } from '../../generation/usage.ts';
import { JsonEvent } from '../../http/json-event.ts';
import type { RequestContext } from '../../http/request-context.ts';
import {
  type AnswerOptions,
  completionHead,
  completionUsage,
  finishReason,
  finishReasonSchema,
  headFields,
} from './completion-answer.ts';
import { LegacyLogprobs, type LegacyLogprobsJson, legacyLogprobsSchema } from './legacy-logprobs.ts';
import type { Echo, StartedPrompt } from './start-completions.ts';

export const completionChunkSchema = z
  .object({
    ...headFields,
    choices: z.array(
      z.object({
        index: z.int(),
        text: z.string(),
        logprobs: legacyLogprobsSchema.nullable(),
        finish_reason: finishReasonSchema.nullable(),
      }),
    ),
    usage: usageSchema.nullish(),
  })
  .meta({ id: 'CompletionChunk' });

export interface StreamOptions extends AnswerOptions {
  readonly includeUsage: boolean;
}

/** The chunks of an answer: of each text its prompt if it is echoed, then what is written, then why it ended. */
export async function* completionChunks(
  context: RequestContext,
  started: readonly StartedPrompt[],
  options: StreamOptions,
): AsyncGenerator<JsonEvent> {
  const write = new ChunkWriter(options);
  const results: GenerateResult[][] = started.map(() => []);
  const texts = started.flatMap(({ echo, generations }, prompt) =>
    generations.map((generation, choice) =>
      textChunks(write, {
        echo,
        generation,
        index: prompt * options.count + choice,
        logprobs: options.wantsLogprobs ? new TextLogprobs(options.tokenizer) : undefined,
        onEnd: (result) => {
          results[prompt]![choice] = result;
        },
      }),
    ),
  );
  yield* inOrderOfArrival(texts);
  const usage = completionUsage(context, started, results);
  if (options.includeUsage) yield write.usage(usage);
}

interface StreamedText {
  readonly echo: Echo | undefined;
  readonly generation: Generation;
  readonly index: number;
  /** Present when log-probabilities are asked for. */
  readonly logprobs: TextLogprobs | undefined;
  readonly onEnd: (result: GenerateResult) => void;
}

async function* textChunks(
  write: ChunkWriter,
  { echo, generation, index, logprobs, onEnd }: StreamedText,
): AsyncGenerator<JsonEvent> {
  const legacy = logprobs && new LegacyLogprobs();
  if (echo) yield write.text(index, echo.text, legacy && echo.logprobs ? legacy.write(echo.logprobs) : null);
  for await (const delta of generation) {
    const tokens = logprobs?.push(delta);
    if (delta.text === '' && !tokens?.length) continue;
    yield write.text(index, delta.text, tokens?.length ? legacy!.write(tokens) : null);
  }
  const result = await generation.result;
  onEnd(result);
  const rest = logprobs?.finish(result);
  yield write.text(index, '', rest?.length ? legacy!.write(rest) : null, finishReason(result));
}

/** Writes chunks as JSON, of which most is the same for all of an answer. */
class ChunkWriter {
  readonly #beginning: string;
  readonly #end: string;

  constructor({ head, includeUsage }: StreamOptions) {
    this.#beginning = `${JSON.stringify(completionHead(head)).slice(0, -1)},"choices":[`;
    this.#end = includeUsage ? '],"usage":null}' : ']}';
  }

  text(index: number, text: string, logprobs: LegacyLogprobsJson | null, reason: string | null = null): JsonEvent {
    const choice = JSON.stringify({ index, text, logprobs, finish_reason: reason });
    return new JsonEvent(this.#beginning + choice + this.#end);
  }

  usage(usage: z.output<typeof usageSchema>): JsonEvent {
    return new JsonEvent(`${this.#beginning}],"usage":${JSON.stringify(usage)}}`);
  }
}
