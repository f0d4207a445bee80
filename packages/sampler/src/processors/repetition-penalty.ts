import { clampToFloat } from './clamp-to-float.ts';
import type { LogitProcessor } from './processor.ts';
import { forEachDistinctToken } from './token-counts.ts';

const fround = Math.fround;

/**
 * Divides positive logits of recent tokens by `penalty` and multiplies the others by it, once per distinct token
 * (Keskar et al., "CTRL", 2019). The prompt counts.
 *
 * @param window number of last tokens, prompt and completion together, that count; -1: all
 */
export function repetitionPenalty(penalty: number, window: number): LogitProcessor {
  const factor = fround(penalty);
  return {
    stage: 'logits',
    name: 'repetitionPenalty',
    process(logits, { promptTokenIds, completionTokenIds }) {
      const numTokens = promptTokenIds.length + completionTokenIds.length;
      const start = window === -1 ? 0 : Math.max(0, numTokens - window);
      const recent = [
        { field: 'promptTokenIds', tokenIds: promptTokenIds, start },
        {
          field: 'completionTokenIds',
          tokenIds: completionTokenIds,
          start: Math.max(0, start - promptTokenIds.length),
        },
      ];
      forEachDistinctToken(recent, logits.length, (tokenId) => {
        const logit = logits[tokenId]!;
        logits[tokenId] = clampToFloat(logit > 0 ? logit / factor : logit * factor);
      });
    },
  };
}
