import './__fixtures__/fixed-seed.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { naiveSample } from './__fixtures__/naive-sampler.ts';
import { randomRow } from './__fixtures__/rows.ts';
import type { SamplingParams } from './params/sampling-params.ts';
import { createTokenMask } from './processors/token-mask.ts';
import { createSampler } from './sampler.ts';

const noHistory = { promptTokenIds: [], completionTokenIds: [] };

describe('sampling equals its definition', () => {
  const score = fc.oneof(
    { weight: 6, arbitrary: fc.float({ min: -20, max: 20, noNaN: true }) },
    { weight: 3, arbitrary: fc.integer({ min: -3, max: 3 }) }, // ties
    { weight: 1, arbitrary: fc.constantFrom(-0, 2 ** -149, Math.fround(3e38), Math.fround(-3e38)) },
  );
  const cases = fc.integer({ min: 1, max: 80 }).chain((vocabSize) => {
    const tokenId = fc.nat(vocabSize - 1);
    const off = <T>(value: T) => ({ weight: 2, arbitrary: fc.constant(value) });
    const unit = fc.double({ min: 0, max: 1, noNaN: true });
    return fc.record({
      logits: fc.array(score, { minLength: vocabSize, maxLength: vocabSize }),
      prompt: fc.array(tokenId, { maxLength: 20 }),
      completion: fc.array(tokenId, { maxLength: 20 }),
      allowed: fc.option(fc.uniqueArray(tokenId, { minLength: 1 })),
      params: fc.record({
        temperature: fc.oneof(
          fc.constantFrom(0, 5e-324, 1e-30, 1e-4, 0.7, 1, 3, 1e308),
          fc.double({ min: 0, max: 3, noNaN: true }),
        ),
        topK: fc.oneof(off(0), fc.integer({ min: -1, max: 100 })),
        topP: fc.oneof(off(1), unit),
        minP: fc.oneof(off(0), unit),
        typicalP: fc.oneof(off(1), unit),
        repetitionPenalty: fc.oneof(off(1), fc.double({ min: 0.1, max: 3, noNaN: true })),
        repetitionWindow: fc.integer({ min: -1, max: 30 }),
        frequencyPenalty: fc.oneof(off(0), fc.double({ min: -2, max: 2, noNaN: true })),
        presencePenalty: fc.oneof(off(0), fc.double({ min: -2, max: 2, noNaN: true })),
        logitBias: fc
          .array(fc.tuple(tokenId, fc.double({ min: -100, max: 100, noNaN: true })), { maxLength: 5 })
          .map((e) => new Map(e)),
        seed: fc.bigInt(0n, 2n ** 64n - 1n),
        choiceIndex: fc.nat(5),
      }),
    });
  });

  it('for all parameters together, on small rows with ties and extremes', () => {
    fc.assert(
      fc.property(cases, ({ logits, prompt, completion, allowed, params }) => {
        const row = Float32Array.from(logits);
        const sampler = createSampler(params, { vocabSize: row.length });
        const mask = allowed === null ? undefined : createTokenMask(row.length, allowed);
        const isAllowed = (tokenId: number) => allowed === null || allowed.includes(tokenId);
        const { tokenId } = sampler.sample(row, { promptTokenIds: prompt, completionTokenIds: completion }, { mask });
        expect(tokenId).toBe(naiveSample(row, sampler.params, prompt, completion, isAllowed));
        expect(row).toEqual(Float32Array.from(logits));
      }),
      { numRuns: 1000 },
    );
  });

  it('on rows of the size of a vocabulary', () => {
    const logits = randomRow(16_000, 3);
    const settings: SamplingParams[] = [
      {},
      { temperature: 0.7, topP: 0.9 },
      { topK: 40 },
      { topK: 40, topP: 0.95, minP: 0.05, temperature: 1.5 },
      { temperature: 5 },
      { typicalP: 0.9 },
      { minP: 0.02, temperature: 2 },
    ];
    for (const params of settings) {
      const sampler = createSampler({ ...params, seed: 7 }, { vocabSize: logits.length });
      const { tokenId } = sampler.sample(logits, noHistory);
      expect(tokenId, JSON.stringify(params)).toBe(naiveSample(logits, sampler.params, [], []));
    }
  });
});
