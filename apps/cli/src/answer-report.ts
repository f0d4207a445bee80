import type { GenerateResult } from '@hearth/engine';
import type { SpeculationStats } from '@hearth/llm';

/** One answer and what it cost, as JSON. An edge of the program, so the names are in snake_case. */
export function answerReport({ usage, timings, logprobs, speculation, ...result }: GenerateResult) {
  return {
    text: result.text,
    token_ids: result.tokenIds,
    finish_reason: result.finishReason,
    stop_sequence: result.stopSequence ?? null,
    seed: result.seed.toString(),
    ...(logprobs && {
      logprobs: logprobs.map(({ logprob, topLogprobs }) => ({ logprob, top_logprobs: topLogprobs })),
    }),
    usage: {
      prompt_tokens: usage.promptTokens,
      cached_tokens: usage.cachedTokens,
      completion_tokens: usage.completionTokens,
    },
    timings: {
      prefill_ms: timings.prefillMs,
      first_token_ms: timings.firstTokenMs,
      decode_ms: timings.decodeMs,
      prefill_tokens_per_second: timings.prefillTokensPerSecond,
      decode_tokens_per_second: timings.tokensPerSecond,
    },
    ...(speculation && { speculation: speculationReport(speculation) }),
  };
}

function speculationReport(stats: SpeculationStats) {
  return {
    attempts: stats.attempts,
    proposed_tokens: stats.proposedTokens,
    accepted_tokens: stats.acceptedTokens,
    /** Null where nothing was proposed. */
    acceptance: acceptance(stats),
    pauses: stats.pauses,
    failures: stats.failures,
    last_failure: stats.lastFailure ?? null,
  };
}

/** The share of guesses that stood; null where there were none. */
function acceptance({ acceptedTokens, proposedTokens }: SpeculationStats): number | null {
  return proposedTokens === 0 ? null : acceptedTokens / proposedTokens;
}
