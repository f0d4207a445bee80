import './__fixtures__/fixed-seed.ts';
import { InvalidArgumentError, noTokenAllowed } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { randomRow } from './__fixtures__/rows.ts';
import type { SamplingParams } from './params/sampling-params.ts';
import { createTokenMask } from './processors/token-mask.ts';
import { sampleFromRow } from './sample-row.ts';
import { createSampler } from './sampler.ts';

const history = { promptTokenIds: [1, 2, 1], completionTokenIds: [3, 3] };

describe('the row of a backend that samples', () => {
  it('has the parameters, resolved, the history and the mask', () => {
    const params = { temperature: 0.5, topK: -1, topP: 0.9, minP: 0.1, seed: -1, choiceIndex: 2, logitBias: { 3: 1 } };
    const mask = createTokenMask(8, [1]);
    expect(createSampler(params, { vocabSize: 8 }).sampleRow(history, { mask })).toEqual({
      ...params,
      topK: 0,
      seed: 2n ** 64n - 1n,
      logitBias: new Map([[3, 1]]),
      typicalP: 1,
      repetitionPenalty: 1,
      repetitionWindow: -1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      ...history,
      mask,
    });
  });

  it('gives the token of the sampler', () => {
    const params: fc.Arbitrary<SamplingParams> = fc.record({
      temperature: fc.constantFrom(0, 0.5, 2),
      topK: fc.constantFrom(0, 5),
      typicalP: fc.constantFrom(1, 0.7),
      repetitionPenalty: fc.constantFrom(1, 3),
      repetitionWindow: fc.constantFrom(-1, 1),
      frequencyPenalty: fc.constantFrom(0, 2),
      presencePenalty: fc.constantFrom(0, -2),
      logitBias: fc.constantFrom({}, { 1: 3, 2: -3 }),
      seed: fc.nat(),
    });
    const masks = fc.constantFrom(undefined, createTokenMask(40, [1, 3, 9, 39]));
    fc.assert(
      fc.property(params, masks, fc.nat(), (given, mask, seed) => {
        const logits = randomRow(40, seed);
        const sampler = createSampler(given, { vocabSize: 40 });
        const row = sampler.sampleRow(history, { mask })!;
        expect(sampleFromRow(logits, row)).toBe(sampler.sample(logits, history, { mask }).tokenId);
      }),
    );
  });

  it('cannot say log-probabilities, nor processors of the caller', () => {
    const processors = [{ stage: 'candidates', name: 'none', process: () => {} } as const];
    expect(createSampler({ logprobs: 0 }, { vocabSize: 8 }).sampleRow(history)).toBeUndefined();
    expect(createSampler({}, { vocabSize: 8, processors }).sampleRow(history)).toBeUndefined();
  });

  it('gives -2 where the mask allows no token, and throws all else that sampling throws', () => {
    const row = createSampler({ repetitionPenalty: 2 }, { vocabSize: 8 }).sampleRow(history)!;
    const logits = new Float32Array(8);
    expect(sampleFromRow(logits, { ...row, mask: new Uint32Array(1) })).toBe(noTokenAllowed);
    expect(() => sampleFromRow(logits, { ...row, topP: 2 })).toThrow(InvalidArgumentError);
    expect(() => sampleFromRow(logits, { ...row, promptTokenIds: [8] })).toThrow('promptTokenIds[0] must be');
  });
});
