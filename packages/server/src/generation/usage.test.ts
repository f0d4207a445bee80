import type { GenerateResult } from '@hearth/engine';
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../http/request-context.ts';
import { type EndedChoice, usageOf } from './usage.ts';

/** A text of 10 tokens after a prompt of 20, for which so many tokens were guessed. */
function choice(proposedTokens?: number, acceptedTokens?: number): EndedChoice {
  const usage = { promptTokens: 20, cachedTokens: 16, completionTokens: 10 };
  const speculation = proposedTokens === undefined ? {} : { speculation: { proposedTokens, acceptedTokens } };
  return { result: { usage, ...speculation } as unknown as GenerateResult, numReasoningTokens: 3 };
}

const usage = (choices: readonly EndedChoice[]) => usageOf({} as RequestContext, choices);

describe('usageOf', () => {
  it('counts the prompt once, and all texts', () => {
    expect(usage([choice(), choice()])).toEqual({
      prompt_tokens: 20,
      completion_tokens: 20,
      total_tokens: 40,
      prompt_tokens_details: { cached_tokens: 16 },
      completion_tokens_details: { reasoning_tokens: 6 },
    });
  });

  it('tells of guesses where some were made', () => {
    expect(usage([choice(8, 5), choice(), choice(4, 0)]).completion_tokens_details).toEqual({
      reasoning_tokens: 9,
      accepted_prediction_tokens: 5,
      rejected_prediction_tokens: 7,
    });
    expect(usage([choice(0, 0)]).completion_tokens_details).toEqual({ reasoning_tokens: 3 });
  });
});
