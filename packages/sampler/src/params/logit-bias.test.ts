import { type HearthError, InvalidArgumentError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { resolveLogitBias } from './logit-bias.ts';

function refusal(logitBias: unknown): HearthError {
  try {
    resolveLogitBias(logitBias, 100);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    return error as HearthError;
  }
  return expect.fail('Expected a refusal.');
}

describe('resolveLogitBias', () => {
  it('takes a Map or a record', () => {
    const expected = new Map([
      [0, -100],
      [99, 100],
      [5, 0.5],
    ]);
    expect(resolveLogitBias(expected, 100)).toEqual(expected);
    expect(resolveLogitBias({ 0: -100, 99: 100, 5: 0.5 }, 100)).toEqual(expected);
    expect(resolveLogitBias({}, 100)).toEqual(new Map());
    expect(resolveLogitBias(undefined, 100)).toEqual(new Map());
    expect(resolveLogitBias(Object.assign(Object.create(null), { 7: 1 }), 100)).toEqual(new Map([[7, 1]]));
  });

  it('lists all bad keys in one error', () => {
    const error = refusal({
      1: 5,
      100: 5,
      '1.5': 5,
      '-1': 5,
      abc: 5,
      ' 2': 5,
      '03': 5,
      '1e1': 5,
      '': 5,
      4: 101,
      6: 'high',
    });
    // Integer keys come first in a record, in ascending order.
    expect(error.details.badKeys).toEqual(['4', '6', '100', '1.5', '-1', 'abc', ' 2', '03', '1e1', '']);
    expect(error.details).toMatchObject({ field: 'logitBias' });
    for (const part of ['token 4 has 101', 'token 6 has the string "high"', '"100"', '"1.5"', '"-1"', '"abc"']) {
      expect(error.message).toContain(part);
    }
    expect(error.message).not.toContain('"1"');
  });

  it('takes numbers only as keys of a Map', () => {
    const badKeys = ['5', 1.5, -1, 100, Number.NaN, null, 2n];
    expect(refusal(new Map(badKeys.map((key) => [key, 1]))).details.badKeys).toEqual(badKeys);
  });

  it('refuses values that are no finite number from -100 to 100', () => {
    for (const value of [100.5, -101, 1e9, Number.NaN, Number.POSITIVE_INFINITY, '5', null, undefined, true, 1n, {}]) {
      expect(refusal({ 5: value }).details.badKeys).toEqual(['5']);
    }
  });

  it('takes __proto__ and constructor for the bad keys they are', () => {
    expect(refusal(JSON.parse('{"__proto__": 5, "constructor": 5}')).details.badKeys).toEqual([
      '__proto__',
      'constructor',
    ]);
    // A literal sets the prototype instead; inherited entries are no entries.
    expect(resolveLogitBias({ __proto__: { 5: 1 } }, 100)).toEqual(new Map());
    expect(({} as Record<string, unknown>)[5]).toBeUndefined();
  });

  it('refuses what is neither Map nor record', () => {
    for (const bad of [null, 5, 'x', [1, 2], new Float32Array(3), true])
      expect(refusal(bad).message).toContain('a Map or an object');
  });

  it('keeps its message short and its list whole', () => {
    const error = refusal(Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`key ${i}`, 1])));
    expect(error.message.length).toBeLessThan(2500);
    expect(error.message).toContain('and 49980 more');
    expect(error.details.badKeys).toHaveLength(50_000);
  });
});
