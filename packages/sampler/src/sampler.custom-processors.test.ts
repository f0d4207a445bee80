import { NumericError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { NoTokenAllowedError } from './no-token-allowed-error.ts';
import type { Processor } from './processors/processor.ts';
import { createTokenMask } from './processors/token-mask.ts';
import { createSampler } from './sampler.ts';

const noHistory = { promptTokenIds: [], completionTokenIds: [] };

describe('custom processors', () => {
  const logits = Float32Array.of(1, 3, 2);
  const ban = (tokenId: number): Processor => ({
    stage: 'logits',
    name: `ban ${tokenId}`,
    process: (scores) => {
      scores[tokenId] = Number.NEGATIVE_INFINITY;
    },
  });

  it('change scores after the penalties and before the mask', () => {
    const seen: number[][] = [];
    const spy: Processor = { stage: 'logits', name: 'spy', process: (scores) => void seen.push([...scores]) };
    const sampler = createSampler(
      { temperature: 0, logitBias: { 0: 10 } },
      { vocabSize: 3, processors: [ban(0), spy] },
    );
    const { tokenId } = sampler.sample(logits, noHistory, { mask: createTokenMask(3, [0, 2]) });
    expect(seen).toEqual([[Number.NEGATIVE_INFINITY, 3, 2]]);
    expect(tokenId).toBe(2);
  });

  it('drop candidates after the built-in filters', () => {
    const lengths: number[] = [];
    const secondBest: Processor = {
      stage: 'candidates',
      name: 'second best',
      process: (candidates) => {
        lengths.push(candidates.length);
        candidates.keep((index) => index === 1);
      },
    };
    const sampler = createSampler({ topK: 2, seed: 1 }, { vocabSize: 3, processors: [secondBest] });
    expect(sampler.sample(logits, noHistory).tokenId).toBe(2);
    expect(lengths).toEqual([2]);
  });

  it('are told when they write what is no score, or ban everything', () => {
    const write = (value: number): Processor => ({
      stage: 'logits',
      name: 'writer',
      process: (scores) => void scores.fill(value),
    });
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const sampler = createSampler({}, { vocabSize: 3, processors: [write(bad)] });
      expect(() => sampler.sample(logits, noHistory)).toThrow('writer');
      expect(() => sampler.sample(logits, noHistory)).toThrow(NumericError);
    }
    const banAll = createSampler({}, { vocabSize: 3, processors: [write(Number.NEGATIVE_INFINITY)] });
    expect(() => banAll.sample(logits, noHistory)).toThrow(NoTokenAllowedError);
  });

  it('may sample themselves, or throw, without disturbing anyone', () => {
    const inner = createSampler({ seed: 2, topK: 2, logitBias: { 0: 1 } }, { vocabSize: 3 });
    const nesting: Processor = {
      stage: 'logits',
      name: 'nesting',
      process: () => void inner.sample(logits, noHistory),
    };
    const params = { seed: 1, logitBias: { 2: 1 } };
    const nested = createSampler(params, { vocabSize: 3, processors: [nesting] });
    const plain = createSampler(params, { vocabSize: 3 });
    expect(nested.sample(logits, noHistory)).toEqual(plain.sample(logits, noHistory));

    const failing: Processor = {
      stage: 'logits',
      name: 'failing',
      process: () => {
        throw new Error('mine');
      },
    };
    expect(() => createSampler({}, { vocabSize: 3, processors: [failing] }).sample(logits, noHistory)).toThrow('mine');
    expect(nested.sample(logits, noHistory)).toEqual(plain.sample(logits, noHistory));
  });

  it('need a stage', () => {
    const nameless = { process: () => {} } as unknown as Processor;
    expect(() => createSampler({}, { vocabSize: 3, processors: [nameless] })).toThrow(
      "processors[0].stage must be 'logits'",
    );
  });
});
