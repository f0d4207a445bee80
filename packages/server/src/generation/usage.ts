import type { GenerateResult, GenerateUsage } from '@hearth/engine';
import { z } from 'zod';
import type { RequestContext } from '../http/request-context.ts';

/** One text of an answer, ended. */
export interface EndedChoice {
  readonly result: GenerateResult;
  readonly numReasoningTokens: number;
}

export type PromptUsage = Pick<GenerateUsage, 'promptTokens' | 'cachedTokens'>;

export const usageSchema = z
  .object({
    prompt_tokens: z.int(),
    completion_tokens: z.int(),
    total_tokens: z.int(),
    prompt_tokens_details: z.object({ cached_tokens: z.int() }),
    completion_tokens_details: z.object({
      reasoning_tokens: z.int(),
      accepted_prediction_tokens: z
        .int()
        .optional()
        .meta({ description: 'Of the tokens that were guessed ahead, those that were right; absent when none was.' }),
      rejected_prediction_tokens: z.int().optional().meta({ description: 'Those that were not.' }),
    }),
  })
  .meta({ id: 'Usage' });

/**
 * Tokens of an answer: a prompt counts once, however many texts follow it. The log and the metrics are told, too.
 * @param prompts those of the answer; by default one, which all texts follow
 */
export function usageOf(
  context: RequestContext,
  choices: readonly EndedChoice[],
  prompts: readonly PromptUsage[] = choices.slice(0, 1).map(({ result }) => result.usage),
): z.output<typeof usageSchema> {
  const promptTokens = sum(prompts.map((prompt) => prompt.promptTokens));
  const cachedTokens = sum(prompts.map((prompt) => prompt.cachedTokens));
  const completionTokens = sum(choices.map(({ result }) => result.usage.completionTokens));
  context.usage = { promptTokens, cachedTokens, completionTokens };
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
    completion_tokens_details: {
      reasoning_tokens: sum(choices.map((choice) => choice.numReasoningTokens)),
      ...guessesOf(choices),
    },
  };
}

/** Guesses ahead, which are as good as the predictions of a client; nothing where there were none. */
function guessesOf(choices: readonly EndedChoice[]) {
  const proposed = sum(choices.map(({ result }) => result.speculation?.proposedTokens ?? 0));
  const accepted = sum(choices.map(({ result }) => result.speculation?.acceptedTokens ?? 0));
  if (proposed === 0) return {};
  return { accepted_prediction_tokens: accepted, rejected_prediction_tokens: proposed - accepted };
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0);
}
