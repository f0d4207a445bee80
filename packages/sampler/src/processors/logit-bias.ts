import type { LogitProcessor } from './processor.ts';

/** Adds a constant to the logits of some tokens. Sums of a finite logit and at most 100 cannot overflow. */
export function logitBias(biasByTokenId: ReadonlyMap<number, number>): LogitProcessor {
  return {
    stage: 'logits',
    name: 'logitBias',
    process(logits) {
      for (const [tokenId, bias] of biasByTokenId) logits[tokenId] = logits[tokenId]! + Math.fround(bias);
    },
  };
}
