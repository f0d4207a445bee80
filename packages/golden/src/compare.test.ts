import { describe, expect, it } from 'vitest';
import { compareTensor } from './compare.ts';

const golden = { shape: [2, 3], tolerance: { abs: 0.25, reason: 'a quarter' } };
const expected = Float32Array.of(0, 1, 2, 3, 4, 5);

describe('compareTensor', () => {
  it('passes what is within the tolerance and names the furthest element', () => {
    const comparison = compareTensor('x', expected, Float32Array.of(0, 1, 2, 3.125, 4.25, 5), golden);
    expect(comparison).toMatchObject({
      passed: true,
      worst: { coordinates: [1, 1], expected: 4, got: 4.25, error: 0.25 },
      tolerance: { reason: 'a quarter' },
    });
  });

  it('fails what is further away', () => {
    const comparison = compareTensor('x', expected, Float32Array.of(0, 1, 2.5, 3, 4, 5), golden);
    expect(comparison).toMatchObject({ passed: false, worst: { coordinates: [0, 2], error: 0.5 } });
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY])('never passes %s', (value) => {
    const comparison = compareTensor('x', expected, Float32Array.of(0, 1, 2, 3, 4, value), {
      ...golden,
      tolerance: { abs: Number.MAX_VALUE, reason: 'anything finite' },
    });
    expect(comparison).toMatchObject({ passed: false, worst: { coordinates: [1, 2] } });
  });

  it('fails the smallest difference where values must be exact', () => {
    const exact = { shape: [1], tolerance: { abs: 0, reason: 'exact' } };
    expect(compareTensor('x', Float32Array.of(1), Float32Array.of(1), exact).passed).toBe(true);
    expect(compareTensor('x', Float32Array.of(1), Float32Array.of(1 + 2 ** -23), exact).passed).toBe(false);
  });

  it('does not compare tensors of different sizes', () => {
    expect(() => compareTensor('x', expected, new Float32Array(5), golden)).toThrow(/expected \[2,3\]/);
  });
});
