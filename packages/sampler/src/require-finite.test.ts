import { NumericError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { requireFinite, requireLogits } from './require-finite.ts';

const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

describe('requireFinite', () => {
  it('finds NaN and infinities at every place of rows of every length', () => {
    for (let length = 1; length <= 9; length++) {
      for (let place = 0; place < length; place++) {
        for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
          const logits = new Float32Array(length).fill(-1);
          logits[place] = bad;
          expect(() => requireFinite(logits)).toThrow(NumericError);
          expect(() => requireFinite(logits)).toThrow(`token ${place} has ${bad}`);
        }
      }
    }
  });

  it('passes every finite value', () => {
    const logits = Float32Array.of(0, -0, LARGEST_FLOAT, -LARGEST_FLOAT, 2 ** -149, -(2 ** -149), 1);
    expect(() => requireFinite(logits)).not.toThrow();
  });
});

describe('requireLogits', () => {
  it('passes -Infinity, and names the processor for anything else that is not finite', () => {
    expect(() => requireLogits(Float32Array.of(1, Number.NEGATIVE_INFINITY), 'mine')).not.toThrow();
    expect(() => requireLogits(Float32Array.of(1, Number.NaN), 'mine')).toThrow('mine wrote NaN for token 1');
    expect(() => requireLogits(Float32Array.of(Number.POSITIVE_INFINITY), 'mine')).toThrow('mine wrote Infinity');
  });
});
