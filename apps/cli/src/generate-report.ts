import type { GenerateResult, ModelInfo } from '@hearth/engine';
import type { ResolvedModel } from '@hearth/hub';
import { answerReport } from './answer-report.ts';
import { modelRecord, runRecord } from './run-record.ts';

interface ReportParts {
  readonly resolved: ResolvedModel;
  readonly info: ModelInfo;
  /** The model that guessed, if one did. */
  readonly draft?: { readonly resolved: ResolvedModel; readonly info: ModelInfo } | undefined;
  readonly result: GenerateResult;
  readonly tokenIds: ArrayLike<number>;
  /** From the start of the command to the weights being loaded. */
  readonly loadMs: number;
}

/** What `generate --json` prints: the answer, what it cost, and what is needed to get it again. */
export async function generateReport({ resolved, info, draft, result, tokenIds, loadMs }: ReportParts) {
  const answer = answerReport(result);
  return {
    ...answer,
    prompt_token_ids: Array.from(tokenIds),
    timings: { load_ms: loadMs, ...answer.timings },
    memory: {
      resident_bytes: process.memoryUsage.rss(),
      // maxRSS is in kilobytes (getrusage).
      peak_resident_bytes: process.resourceUsage().maxRSS * 1024,
      ...modelMemory(info),
      ...(draft && { draft: modelMemory(draft.info) }),
    },
    record: {
      ...(await runRecord(resolved, info)),
      ...(draft && {
        draft: { ...modelRecord(draft.resolved, draft.info), context_length: draft.info.contextLength },
      }),
    },
  };
}

function modelMemory(info: ModelInfo) {
  return {
    packed_weight_bytes: info.packedBytes,
    file_bytes: info.fileBytes,
    kv_bytes_per_token: info.kvBytesPerToken,
    kv_bytes: info.kvBytes,
    kv_tokens: info.cacheTokens,
  };
}
