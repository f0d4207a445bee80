import { type HearthError, InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { resolveSamplingParams } from './resolve-sampling-params.ts';
import type { SamplingParams } from './sampling-params.ts';

const VOCAB_SIZE = 1000;

function resolve(params: Record<string, unknown>) {
  return resolveSamplingParams(params as SamplingParams, VOCAB_SIZE);
}

function refusal(params: Record<string, unknown>): HearthError {
  try {
    resolve(params);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    return error as HearthError;
  }
  return expect.fail('Expected a refusal.');
}

describe('resolveSamplingParams', () => {
  it('fills in defaults that change nothing about the model', () => {
    const { seed, ...rest } = resolve({});
    expect(rest).toEqual({
      temperature: 1,
      topK: 0,
      topP: 1,
      minP: 0,
      typicalP: 1,
      repetitionPenalty: 1,
      repetitionWindow: -1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      logitBias: new Map(),
      choiceIndex: 0,
      logprobs: undefined,
    });
    expect(seed).toBeTypeOf('bigint');
    expect(
      resolve({ temperature: undefined, topK: undefined, logitBias: undefined, logprobs: undefined }),
    ).toMatchObject(rest);
  });

  it('takes the ends of every range', () => {
    const accepted: Record<string, unknown[]> = {
      temperature: [0, -0, 5e-324, 1e-30, 1e-4, 3, 1e308, Number.MAX_VALUE],
      topK: [-1, 0, 1, 1e9, Number.MAX_SAFE_INTEGER],
      topP: [0, 1e-300, 1],
      minP: [0, 1],
      typicalP: [0, 1],
      repetitionPenalty: [2 ** -126, 1, 3.4e38],
      repetitionWindow: [-1, 0, 1, Number.MAX_SAFE_INTEGER],
      frequencyPenalty: [-2, 2],
      presencePenalty: [-2, 2],
      choiceIndex: [0, 2 ** 32 - 1],
      logprobs: [0, 20],
    };
    for (const [field, values] of Object.entries(accepted)) {
      for (const value of values) expect(() => resolve({ [field]: value }), `${field} ${value}`).not.toThrow();
    }
    expect(resolve({ topK: -1 }).topK).toBe(0);
  });

  it('refuses everything else, naming field, expectation and value', () => {
    const wrongKinds = [
      '0',
      '',
      null,
      true,
      {},
      [],
      [1],
      1n,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      Symbol('x'),
      () => 1,
    ];
    const refused: Record<string, unknown[]> = {
      temperature: [-1, -5e-324, ...wrongKinds],
      topK: [-2, 1.5, 2 ** 53, ...wrongKinds],
      topP: [-0.1, 1.1, 2, ...wrongKinds],
      minP: [-0.1, 2, ...wrongKinds],
      typicalP: [-0.1, 2, ...wrongKinds],
      repetitionPenalty: [0, -1, 1e-46, 1e39, ...wrongKinds],
      repetitionWindow: [-2, 0.5, ...wrongKinds],
      frequencyPenalty: [-2.01, 2.01, ...wrongKinds],
      presencePenalty: [-2.01, 2.01, ...wrongKinds],
      choiceIndex: [-1, 0.5, 2 ** 32, ...wrongKinds],
      logprobs: [-1, 21, 1.5, ...wrongKinds],
    };
    for (const [field, values] of Object.entries(refused)) {
      for (const value of values) {
        const error = refusal({ [field]: value });
        expect(error.code).toBe('invalid_argument');
        expect(error.details).toMatchObject({ field, received: value });
        expect(error.message).toMatch(new RegExp(`^${field} must be .+, but got .+\\.$`));
      }
    }
    expect(refusal({ temperature: '0' }).message).toBe(
      'temperature must be a finite number of at least 0, but got the string "0".',
    );
    expect(refusal({ topK: 1.5 }).message).toBe('topK must be an integer of at least -1, but got 1.5.');
  });

  it('refuses fields it does not know', () => {
    const error = refusal({ top_k: 40, temperature: 1 });
    expect(error.message).toContain('the string "top_k"');
    expect(error.details).toMatchObject({ field: 'top_k', received: ['top_k'] });
    expect(() => resolveSamplingParams(null as unknown as SamplingParams, 10)).toThrow('params must be an object');
    expect(() => resolveSamplingParams([] as unknown as SamplingParams, 10)).toThrow('params must be an object');
  });

  it('refuses a vocabulary that is none', () => {
    for (const vocabSize of [0, -1, 1.5, Number.NaN, 2 ** 31, '5', undefined]) {
      expect(() => resolveSamplingParams({}, vocabSize as number)).toThrow('vocabSize must be an integer from 1');
    }
  });

  it('keeps messages short whatever the value', () => {
    expect(refusal({ temperature: 'x'.repeat(100_000) }).message.length).toBeLessThan(200);
    expect(refusal({ seed: 10n ** 10_000n }).message.length).toBeLessThan(200);
  });
});
