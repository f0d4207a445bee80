import { NumericError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { rowLogprobs } from './row-logprobs.ts';
import { createSampler } from './sampler.ts';

const logits = Float32Array.from({ length: 300 }, (_, id) => Math.sin(id * 7.3) * 5);
const history = { promptTokenIds: [1], completionTokenIds: [2] };

describe('rowLogprobs', () => {
  it('says of every token what a sampler says that chooses it', () => {
    for (const numTop of [0, 1, 5, 20]) {
      for (let tokenId = 0; tokenId < logits.length; tokenId += 17) {
        const params = { temperature: 0, logprobs: numTop, logitBias: { [tokenId]: 100 } };
        const { tokenId: chosen, ...sampled } = createSampler(params, { vocabSize: 300 }).sample(logits, history);
        expect(chosen).toBe(tokenId);
        expect(rowLogprobs(logits, tokenId, numTop)).toEqual(sampled);
      }
    }
  });

  it('has probabilities that sum to 1, best first and the lower id where two are equal', () => {
    const { topLogprobs } = rowLogprobs(Float32Array.of(1, 3, 3, 0), 0, 20);
    expect(topLogprobs.map(({ tokenId }) => tokenId)).toEqual([1, 2, 0, 3]);
    expect(topLogprobs.reduce((sum, { logprob }) => sum + Math.exp(logprob), 0)).toBeCloseTo(1, 6);
  });

  it('refuses a row that is not finite', () => {
    expect(() => rowLogprobs(Float32Array.of(1, Number.NaN), 0, 1)).toThrow(NumericError);
  });
});
