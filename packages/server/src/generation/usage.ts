import type { GenerateResult } from '@hearth/engine';
import { z } from 'zod';
import type { RequestContext } from '../http/request-context.ts';

/** One text of an answer, ended. */
export interface EndedChoice {
  readonly result: GenerateResult;
  readonly numReasoningTokens: number;
}

export const usageSchema = z
  .object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
    completion_tokens_details: z.object({ reasoning_tokens: z.int() }),
  })
  .meta({ id: 'Usage' });

/** Tokens of an answer: the prompt counts once, however many texts follow it. The log and the metrics are told, too. */
export function usageOf(context: RequestContext, choices: readonly EndedChoice[]): z.output<typeof usageSchema> {
  const sum = (count: (choice: EndedChoice) => number) => choices.reduce((total, choice) => total + count(choice), 0);
  const { promptTokens, cachedTokens } = choices[0]!.result.usage;
  const completionTokens = sum(({ result }) => result.usage.completionTokens);
  context.usage = { promptTokens, cachedTokens, completionTokens };
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: { reasoning_tokens: sum(({ numReasoningTokens }) => numReasoningTokens) },
  };
}
