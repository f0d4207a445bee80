import type { GenerateResult, ModelTokenizer } from '@hearth/engine';
import { z } from 'zod';
import type { AnswerHead } from '../../generation/answer-head.ts';
import { textLogprobs } from '../../generation/text-logprobs.ts';
import { usageOf, usageSchema } from '../../generation/usage.ts';
import type { RequestContext } from '../../http/request-context.ts';
import { bestOf } from './best-of.ts';
import { LegacyLogprobs, legacyLogprobsSchema } from './legacy-logprobs.ts';
import type { Echo, StartedPrompt } from './start-completions.ts';

export const finishReasonSchema = z.enum(['stop', 'length']);

const choiceSchema = z.object({
  index: z.int(),
  text: z.string(),
  logprobs: legacyLogprobsSchema.nullable(),
  finish_reason: finishReasonSchema,
});

/** What all parts of an answer begin with. */
export const headFields = {
  id: z.string(),
  object: z.literal('text_completion'),
  created: z.int(),
  model: z.string(),
  system_fingerprint: z.string(),
};

export const completionSchema = z
  .object({ ...headFields, choices: z.array(choiceSchema), usage: usageSchema })
  .meta({ id: 'Completion' });

type Choice = z.output<typeof choiceSchema>;

/** What an answer is made of, whole or in parts. */
export interface AnswerOptions {
  readonly head: AnswerHead;
  readonly tokenizer: ModelTokenizer;
  /** Texts to answer for each prompt: the best, where more are made. */
  readonly count: number;
  readonly wantsLogprobs: boolean;
}

/** A whole answer, when all its texts have ended. */
export async function completionAnswer(
  context: RequestContext,
  started: readonly StartedPrompt[],
  options: AnswerOptions,
): Promise<z.output<typeof completionSchema>> {
  const results = await Promise.all(
    started.map(({ generations }) => Promise.all(generations.map(({ result }) => result))),
  );
  const choices = results.flatMap((texts, index) => {
    const { echo } = started[index]!;
    return bestOf(texts, options.count).map((result) => wholeChoice(echo, result, options));
  });
  return {
    ...completionHead(options.head),
    choices: choices.map((choice, index) => ({ index, ...choice })),
    usage: completionUsage(context, started, results),
  };
}

function wholeChoice(
  echo: Echo | undefined,
  result: GenerateResult,
  { tokenizer, wantsLogprobs }: AnswerOptions,
): Omit<Choice, 'index'> {
  return {
    text: (echo?.text ?? '') + result.text,
    logprobs: wantsLogprobs
      ? new LegacyLogprobs().write([...(echo?.logprobs ?? []), ...textLogprobs(tokenizer, result)])
      : null,
    finish_reason: finishReason(result),
  };
}

export function completionHead({ id, created, model, fingerprint }: AnswerHead) {
  return { id, object: 'text_completion' as const, created, model, system_fingerprint: fingerprint };
}

/** A text that is not cut off by its limit has stopped. */
export function finishReason(result: GenerateResult): Choice['finish_reason'] {
  return result.finishReason === 'length' ? 'length' : 'stop';
}

/**
 * @param results of all texts, also of those that are not answered, by prompt
 */
export function completionUsage(
  context: RequestContext,
  started: readonly StartedPrompt[],
  results: readonly (readonly GenerateResult[])[],
): z.output<typeof usageSchema> {
  const prompts = results.map(([first], index) => {
    const { promptTokens, cachedTokens } = first!.usage;
    // What the texts found computed was computed for this request.
    return { promptTokens, cachedTokens: started[index]!.echo?.logprobs ? 0 : cachedTokens };
  });
  const choices = results.flat().map((result) => ({ result, numReasoningTokens: 0 }));
  return usageOf(context, choices, prompts);
}
