import type { GenerateResult, Generation } from '@hearth/engine';
import { z } from 'zod';
import { ChunkWriter } from '../../generation/chunk-writer.ts';
import { inOrderOfArrival } from '../../generation/in-order-of-arrival.ts';
import { TextLogprobs } from '../../generation/text-logprobs.ts';
import { usageSchema } from '../../generation/usage.ts';
import type { JsonEvent } from '../../http/json-event.ts';
import type { RequestContext } from '../../http/request-context.ts';
import {
  type AnswerOptions,
  completionHead,
  completionUsage,
  finishReason,
  finishReasonSchema,
  headFields,
} from './completion-answer.ts';
import { LegacyLogprobs, legacyLogprobsSchema } from './legacy-logprobs.ts';
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

type Choice = z.output<typeof completionChunkSchema>['choices'][0];

export interface StreamOptions extends AnswerOptions {
  readonly includeUsage: boolean;
}

/** The chunks of an answer: of each text its prompt if it is echoed, then what is written, then why it ended. */
export async function* completionChunks(
  context: RequestContext,
  started: readonly StartedPrompt[],
  options: StreamOptions,
): AsyncGenerator<JsonEvent> {
  const write = new ChunkWriter<Choice>(completionHead(options.head), options.includeUsage);
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
  write: ChunkWriter<Choice>,
  { echo, generation, index, logprobs, onEnd }: StreamedText,
): AsyncGenerator<JsonEvent> {
  const legacy = logprobs && new LegacyLogprobs();
  const chunk = (text: string, logprobs: Choice['logprobs'], reason: Choice['finish_reason'] = null) =>
    write.choice({ index, text, logprobs, finish_reason: reason });
  if (echo) yield chunk(echo.text, legacy && echo.logprobs ? legacy.write(echo.logprobs) : null);
  for await (const delta of generation) {
    const tokens = logprobs?.push(delta);
    if (delta.text === '' && !tokens?.length) continue;
    yield chunk(delta.text, tokens?.length ? legacy!.write(tokens) : null);
  }
  const result = await generation.result;
  onEnd(result);
  const rest = logprobs?.finish(result);
  yield chunk('', rest?.length ? legacy!.write(rest) : null, finishReason(result));
}
