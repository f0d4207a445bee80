import { InvalidArgumentError, NumericError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { randomRow } from './__fixtures__/rows.ts';
import { NoTokenAllowedError } from './no-token-allowed-error.ts';
import type { SamplingParams } from './params/sampling-params.ts';
import { createTokenMask } from './processors/token-mask.ts';
import { createSampler } from './sampler.ts';

const noHistory = { promptTokenIds: [], completionTokenIds: [] };

/** One token after `numTokens` completion tokens (all of them token 0). */
function sampleAt(logits: Float32Array, params: SamplingParams, numTokens = 0): number {
  const history = { promptTokenIds: [], completionTokenIds: new Int32Array(numTokens) };
  return createSampler(params, { vocabSize: logits.length }).sample(logits, history).tokenId;
}

/** The tokens of the first `count` positions. */
function samplesOf(logits: Float32Array, params: SamplingParams, count = 200): number[] {
  const sampler = createSampler(params, { vocabSize: logits.length });
  return Array.from({ length: count }, (_, numTokens) => {
    const history = { promptTokenIds: [], completionTokenIds: new Int32Array(numTokens) };
    return sampler.sample(logits, history).tokenId;
  });
}

describe('temperature', () => {
  const logits = Float32Array.of(1, 3, 2.5, 3, -1);

  it('0, and anything tiny down to denormals, is greedy with ties to the lower id, whatever the seed', () => {
    for (const temperature of [0, -0, 5e-324, 1e-300, 1e-46, 1e-38, 1e-30, 1e-10]) {
      for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) expect(sampleAt(logits, { temperature, seed })).toBe(1);
    }
  });

  it('small but not tiny finds the best token by arithmetic', () => {
    const withoutTie = Float32Array.of(1, 3, 2.5, 2.86, -1);
    for (const temperature of [1e-8, 1e-6, 1e-4, 1e-3]) {
      expect(new Set(samplesOf(withoutTie, { temperature, seed: 1 }, 50))).toEqual(new Set([1]));
    }
  });

  it('1e308 is uniform and never NaN', () => {
    const counts = [0, 0, 0, 0, 0];
    for (const tokenId of samplesOf(logits, { temperature: 1e308, seed: 1 }, 2000)) counts[tokenId]!++;
    // 400 expected each, deviation 18: five deviations. The seed is fixed, so this cannot flicker.
    for (const count of counts) expect(Math.abs(count - 400)).toBeLessThan(90);
  });

  it('1e308 with a top-k still keeps the best tokens by score', () => {
    expect(new Set(samplesOf(logits, { temperature: 1e308, topK: 2, seed: 1 }))).toEqual(new Set([1, 3]));
  });
});

describe('filters that are off or extreme', () => {
  const logits = Float32Array.of(1, 3, 2.5, 2, -1);

  it('topK 0, -1 and beyond the vocabulary are the same: no limit', () => {
    const plain = samplesOf(logits, { seed: 5 });
    expect(new Set(plain).size).toBe(5);
    for (const topK of [0, -1, 5, 1e9]) expect(samplesOf(logits, { seed: 5, topK })).toEqual(plain);
  });

  it('topP 1, minP 0, typicalP 1 and penalties that are off change no draw', () => {
    const off = { topP: 1, minP: 0, typicalP: 1, repetitionPenalty: 1, frequencyPenalty: 0, presencePenalty: 0 };
    expect(samplesOf(logits, { seed: 5, ...off })).toEqual(samplesOf(logits, { seed: 5 }));
  });

  it('topP 0, minP 1 and topK 1 pick the best token', () => {
    for (const params of [{ topP: 0 }, { minP: 1 }, { topK: 1 }]) {
      expect(new Set(samplesOf(logits, { seed: 5, ...params }))).toEqual(new Set([1]));
    }
  });
});

describe('seed', () => {
  const logits = new Float32Array(1000);

  it('repeats a sequence, and another seed or choice gives another one', () => {
    const base = samplesOf(logits, { seed: 1 }, 20);
    expect(samplesOf(logits, { seed: 1n }, 20)).toEqual(base);
    for (const other of [{ seed: 2 }, { seed: 1n + 2n ** 32n }, { seed: 1, choiceIndex: 1 }]) {
      expect(samplesOf(logits, other, 20)).not.toEqual(base);
    }
  });

  it('tells 2^53 + 1 from 2^53, and -1 from 1 but not from 2^64 - 1', () => {
    const of = (seed: bigint | number) => samplesOf(logits, { seed }, 20);
    expect(of(2n ** 53n + 1n)).not.toEqual(of(2n ** 53n));
    expect(of(-1)).not.toEqual(of(1));
    expect(of(-1)).toEqual(of(2n ** 64n - 1n));
  });

  it('is reported, given or drawn, and the report reproduces the draws', () => {
    const options = { vocabSize: logits.length };
    expect(createSampler({ seed: -1 }, options).seed).toBe(2n ** 64n - 1n);
    const random = createSampler({}, options);
    const again = createSampler({ seed: random.seed }, options);
    expect(again.sample(logits, noHistory)).toEqual(random.sample(logits, noHistory));
    expect(createSampler({}, options).seed).not.toBe(random.seed);
  });

  it('gives the tokens it has always given', () => {
    // Uniform over 1,000 tokens, so each is the floor of 1,000 times the documented Philox draw. Recorded once; a change
    // means that saved seeds no longer reproduce their texts, which is a new numerics version.
    expect(samplesOf(logits, { seed: 42 }, 8)).toEqual([612, 987, 825, 729, 326, 314, 225, 358]);
  });
});

describe('history', () => {
  it('alone decides: steps can be repeated, skipped and taken back', () => {
    const logits = randomRow(500, 9, 1);
    const params = { seed: 3, frequencyPenalty: 1, repetitionPenalty: 1.3, repetitionWindow: 8 };
    const sampler = createSampler(params, { vocabSize: 500 });
    const prompt = [1, 2, 3];
    const completion: number[] = [];
    const sampled: number[] = [];
    for (let i = 0; i < 30; i++) {
      const { tokenId } = sampler.sample(logits, { promptTokenIds: prompt, completionTokenIds: completion });
      // Draft tokens that are thrown away, as speculation does, leave no trace.
      for (let k = 1; k <= i % 4; k++) {
        sampler.sample(logits, { promptTokenIds: prompt, completionTokenIds: [...completion, ...Array(k).fill(7)] });
      }
      completion.push(tokenId);
      sampled.push(tokenId);
    }
    for (const length of [29, 0, 13, 5]) {
      const fresh = createSampler(params, { vocabSize: 500 });
      const history = {
        promptTokenIds: Int32Array.from(prompt),
        completionTokenIds: Int32Array.from(sampled.slice(0, length)),
      };
      expect(fresh.sample(logits, history).tokenId).toBe(sampled[length]);
    }
  });

  it('discourages repetition', () => {
    const logits = Float32Array.of(2, 1.9, 0);
    const sampler = createSampler({ temperature: 0, presencePenalty: 0.5 }, { vocabSize: 3 });
    expect(sampler.sample(logits, { promptTokenIds: [0], completionTokenIds: [] }).tokenId).toBe(0);
    expect(sampler.sample(logits, { promptTokenIds: [0], completionTokenIds: [0] }).tokenId).toBe(1);
  });
});

describe('logit bias', () => {
  const logits = Float32Array.of(1, 3, 2);

  it('-100 on the greedy token changes the pick, 100 forces one', () => {
    expect(sampleAt(logits, { temperature: 0, logitBias: { 1: -100 } })).toBe(2);
    expect(samplesOf(logits, { seed: 1, logitBias: new Map([[0, 100]]) }, 50).every((tokenId) => tokenId === 0)).toBe(
      true,
    );
  });

  it('-100 on every token is no ban: the same token as without', () => {
    const everything = { 0: -100, 1: -100, 2: -100 };
    expect(sampleAt(logits, { temperature: 0, logitBias: everything })).toBe(1);
    expect(samplesOf(logits, { seed: 1, logitBias: everything })).toEqual(samplesOf(logits, { seed: 1 }));
  });

  it('is refused at creation when it does not fit the vocabulary', () => {
    expect(() => createSampler({ logitBias: { 3: 1 } }, { vocabSize: 3 })).toThrow(InvalidArgumentError);
  });
});

describe('mask', () => {
  const logits = Float32Array.of(1, 3, 2, -50);

  it('has the last word over bias and penalties, and top-k counts allowed tokens', () => {
    const params = { seed: 1, logitBias: { 1: 100 }, topK: 2, frequencyPenalty: -2 };
    const sampler = createSampler(params, { vocabSize: 4 });
    const mask = createTokenMask(4, [0, 3]);
    const tokens = new Set<number>();
    for (let i = 0; i < 100; i++) {
      const history = { promptTokenIds: [], completionTokenIds: new Array<number>(i).fill(3) };
      tokens.add(sampler.sample(logits, history, { mask }).tokenId);
    }
    expect(tokens).toEqual(new Set([0, 3]));
  });

  it('that bans everything is a typed error, greedy or sampled', () => {
    for (const temperature of [0, 1]) {
      const sampler = createSampler({ temperature }, { vocabSize: 4 });
      const attempt = () => sampler.sample(logits, noHistory, { mask: new Uint32Array(1) });
      expect(attempt).toThrow(NoTokenAllowedError);
      expect(attempt).toThrow('At least one of the 4 tokens must be allowed');
      expect(sampler.sample(logits, noHistory).tokenId).toBeGreaterThanOrEqual(0);
    }
  });
});

describe('log-probabilities', () => {
  const logits = Float32Array.of(1, 3, 2, 3);
  const expected = (tokenId: number) =>
    logits[tokenId]! - Math.log([1, 3, 2, 3].reduce((sum, x) => sum + Math.exp(x), 0));

  it('are of the model itself, whatever bias, mask and temperature do', () => {
    for (const params of [{ temperature: 0 }, { temperature: 2, topK: 1 }, { temperature: 0, logitBias: { 2: 50 } }]) {
      const sampler = createSampler({ ...params, seed: 1, logprobs: 2 }, { vocabSize: 4 });
      const mask = createTokenMask(4, [0, 2]);
      const { tokenId, logprob, topLogprobs } = sampler.sample(logits, noHistory, { mask });
      expect(tokenId).toBe(2);
      expect(logprob).toBeCloseTo(expected(2), 6);
      expect(topLogprobs!.map((top) => top.tokenId)).toEqual([1, 3]);
      for (const top of topLogprobs!) expect(top.logprob).toBeCloseTo(expected(top.tokenId), 6);
    }
  });

  it('come in the number asked for, at most the vocabulary, and not at all unless asked', () => {
    const of = (logprobs?: number) =>
      createSampler({ temperature: 0, logprobs }, { vocabSize: 4 }).sample(logits, noHistory);
    expect(of(undefined)).toEqual({ tokenId: 1 });
    expect(of(0).topLogprobs).toEqual([]);
    expect(of(0).logprob).toBeCloseTo(expected(1), 6);
    expect(of(3).topLogprobs!.map((top) => top.tokenId)).toEqual([1, 3, 2]);
    expect(of(20).topLogprobs).toHaveLength(4);
  });
});

describe('bad input', () => {
  it('NaN and infinities of the model are errors, also where nothing would choose them', () => {
    for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      for (const temperature of [0, 1]) {
        const sampler = createSampler({ temperature, topK: 1, logitBias: { 0: 100 } }, { vocabSize: 3 });
        expect(() => sampler.sample(Float32Array.of(5, 1, bad), noHistory)).toThrow(NumericError);
      }
    }
  });

  it('rows that do not fit are refused', () => {
    const sampler = createSampler({}, { vocabSize: 3 });
    expect(() => sampler.sample(new Float32Array(4), noHistory)).toThrow(
      'logits must be a Float32Array of 3 values, one per token, but got 4 values.',
    );
    expect(() => sampler.sample([1, 2, 3] as unknown as Float32Array, noHistory)).toThrow(InvalidArgumentError);
    expect(() => sampler.sample(new Float64Array(3) as unknown as Float32Array, noHistory)).toThrow(
      InvalidArgumentError,
    );
  });
});
