import { clampToFloat } from './clamp-to-float.ts';
import type { LogitProcessor } from './processor.ts';
import { forEachDistinctToken } from './token-counts.ts';

const fround = Math.fround;

/** Subtracts count * `frequency` + `presence` from the logits of tokens of the completion, as OpenAI's API defines them. */
export function frequencyPresencePenalty(frequency: number, presence: number): LogitProcessor {
  const perOccurrence = fround(frequency);
  const once = fround(presence);
  return {
    stage: 'logits',
    name: 'frequencyPresencePenalty',
    process(logits, { completionTokenIds }) {
      const completion = { field: 'completionTokenIds', tokenIds: completionTokenIds, start: 0 };
      forEachDistinctToken([completion], logits.length, (tokenId, count) => {
        const lowered = fround(logits[tokenId]! - fround(count * perOccurrence));
        logits[tokenId] = clampToFloat(lowered - once);
      });
    },
  };
}
