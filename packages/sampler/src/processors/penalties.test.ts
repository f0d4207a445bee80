import { InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { noContext } from '../__fixtures__/rows.ts';
import { frequencyPresencePenalty } from './frequency-presence-penalty.ts';
import { logitBias } from './logit-bias.ts';
import type { LogitProcessor } from './processor.ts';
import { repetitionPenalty } from './repetition-penalty.ts';

const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

function apply(
  processor: LogitProcessor,
  logits: number[],
  history: { promptTokenIds?: number[]; completionTokenIds?: number[] },
): number[] {
  const row = Float32Array.from(logits);
  processor.process(row, { ...noContext, ...history });
  return [...row];
}

describe('repetitionPenalty', () => {
  it('divides positive logits and multiplies the others, once per token, prompt included', () => {
    const history = { promptTokenIds: [0, 1, 1], completionTokenIds: [2, 2, 2] };
    expect(apply(repetitionPenalty(2, -1), [4, -4, 0, 4, -4], history)).toEqual([2, -8, 0, 4, -4]);
  });

  it('looks at the last tokens of prompt and completion together', () => {
    const history = { promptTokenIds: [0, 1], completionTokenIds: [2, 3] };
    expect(apply(repetitionPenalty(2, 1), [4, 4, 4, 4], history)).toEqual([4, 4, 4, 2]);
    expect(apply(repetitionPenalty(2, 2), [4, 4, 4, 4], history)).toEqual([4, 4, 2, 2]);
    expect(apply(repetitionPenalty(2, 3), [4, 4, 4, 4], history)).toEqual([4, 2, 2, 2]);
    expect(apply(repetitionPenalty(2, 99), [4, 4, 4, 4], history)).toEqual([2, 2, 2, 2]);
    expect(apply(repetitionPenalty(2, 0), [4, 4, 4, 4], history)).toEqual([4, 4, 4, 4]);
  });

  it('neither bans nor forces a token by overflow', () => {
    const history = { promptTokenIds: [0, 1] };
    expect(apply(repetitionPenalty(1e10, -1), [-1e38, 1], history)[0]).toBe(-LARGEST_FLOAT);
    expect(apply(repetitionPenalty(1e-10, -1), [1e38, 1], history)[0]).toBe(LARGEST_FLOAT);
  });
});

describe('frequencyPresencePenalty', () => {
  it('subtracts count times frequency plus presence, completion only', () => {
    const history = { promptTokenIds: [3, 3, 3], completionTokenIds: [0, 1, 0, 0] };
    expect(apply(frequencyPresencePenalty(0.5, 1), [4, 4, 4, 4], history)).toEqual([1.5, 2.5, 4, 4]);
    expect(apply(frequencyPresencePenalty(-0.5, 0), [4, 4, 4, 4], history)).toEqual([5.5, 4.5, 4, 4]);
  });
});

describe('token counts behind the penalties', () => {
  it('leave nothing behind, also when a token id is refused', () => {
    const penalty = frequencyPresencePenalty(1, 0);
    for (const bad of [4, -1, 1.5, Number.NaN, 2 ** 32]) {
      expect(() => apply(penalty, [9, 9, 9, 9], { completionTokenIds: [1, 1, bad] })).toThrow(InvalidArgumentError);
    }
    expect(() => apply(penalty, [9, 9, 9, 9], { completionTokenIds: [1, 4] })).toThrow(
      'completionTokenIds[1] must be a token id from 0 to 3, but got 4.',
    );
    expect(apply(penalty, [9, 9, 9, 9], { completionTokenIds: [1] })).toEqual([9, 8, 9, 9]);
    expect(apply(penalty, [9, 9, 9, 9], { completionTokenIds: [1] })).toEqual([9, 8, 9, 9]);
  });
});

describe('logitBias', () => {
  it('adds in f32 and touches no other token', () => {
    const bias = logitBias(
      new Map([
        [0, 1.5],
        [2, -100],
      ]),
    );
    expect(apply(bias, [1, 1, 1], {})).toEqual([2.5, 1, -99]);
    expect(apply(bias, [LARGEST_FLOAT, 1, -LARGEST_FLOAT], {})).toEqual([LARGEST_FLOAT, 1, -LARGEST_FLOAT]);
  });
});
