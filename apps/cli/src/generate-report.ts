import type { GenerateResult, ModelInfo } from '@hearth/engine';
import type { ResolvedModel } from '@hearth/hub';
import { runRecord } from './run-record.ts';

interface ReportParts {
  readonly resolved: ResolvedModel;
  readonly info: ModelInfo;
  readonly result: GenerateResult;
  readonly tokenIds: ArrayLike<number>;
  /** From the start of the command to the weights being loaded. */
  readonly loadMs: number;
}

/**
 * What `generate --json` prints: the answer, what it cost, and what is needed to get it again. An edge of the program, so
 * the names are in snake_case.
 */
export async function generateReport({ resolved, info, result, tokenIds, loadMs }: ReportParts) {
  const { usage, timings } = result;
  return {
    text: result.text,
    token_ids: result.tokenIds,
    prompt_token_ids: Array.from(tokenIds),
    finish_reason: result.finishReason,
    stop_sequence: result.stopSequence ?? null,
    seed: result.seed.toString(),
    ...(result.logprobs && {
      logprobs: result.logprobs.map(({ logprob, topLogprobs }) => ({ logprob, top_logprobs: topLogprobs })),
    }),
    usage: {
      prompt_tokens: usage.promptTokens,
      cached_tokens: usage.cachedTokens,
      completion_tokens: usage.completionTokens,
    },
    timings: {
      load_ms: loadMs,
      prefill_ms: timings.prefillMs,
      first_token_ms: timings.firstTokenMs,
      decode_ms: timings.decodeMs,
      prefill_tokens_per_second: timings.prefillTokensPerSecond,
      decode_tokens_per_second: timings.tokensPerSecond,
    },
    memory: {
      resident_bytes: process.memoryUsage.rss(),
      // maxRSS is in kilobytes (getrusage).
      peak_resident_bytes: process.resourceUsage().maxRSS * 1024,
      packed_weight_bytes: info.packedBytes,
      file_bytes: info.fileBytes,
      kv_bytes_per_token: info.kvBytesPerToken,
      kv_bytes: info.kvBytes,
    },
    record: await runRecord(resolved, info),
  };
}
