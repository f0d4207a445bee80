import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../errors/errors.ts';
import { weightDtypes } from '../tensor/dtypes.ts';
import { dequantizeBlocks, splitQuantizedBlocks } from '../tensor/quantized-blocks.ts';
import { type QuantizableDtype, quantizableDtypes, quantizeBlocks } from './quantize-blocks.ts';
import { searchScale, searchScaleAndMin } from './search-scale.ts';

/** Normally distributed values (Box and Muller 1958) from a fixed seed. */
function gaussian(length: number, seed = 1): Float32Array {
  let state = seed;
  const uniform = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return Float32Array.from({ length }, () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform()));
}

function roundTrip(dtype: QuantizableDtype, values: Float32Array): Float32Array {
  return dequantizeBlocks(splitQuantizedBlocks(dtype, quantizeBlocks(dtype, values)));
}

/** Root mean square error ÷ root mean square of the values. */
function relativeError(values: Float32Array, restored: Float32Array): number {
  let error = 0;
  let total = 0;
  for (const [i, value] of values.entries()) {
    error += (value - restored[i]!) ** 2;
    total += value ** 2;
  }
  return Math.sqrt(error / total);
}

/**
 * Errors on normally distributed values, as measured, rounded up by less than 2%. A code or a scale in a wrong place costs many
 * times as much, and a search that finds nothing some 10%.
 */
const expectedErrors: Readonly<Record<QuantizableDtype, number>> = {
  q8_0: 0.00543,
  q4_0: 0.08721,
  q4_1: 0.0795,
  q5_0: 0.04373,
  q5_1: 0.03865,
  iq4_nl: 0.07721,
  q2_k: 0.27992,
  q3_k: 0.15711,
  q4_k: 0.07356,
  q5_k: 0.03684,
  q6_k: 0.01811,
  iq4_xs: 0.07779,
};

describe('quantizeBlocks', () => {
  const values = gaussian(256 * 64);

  it.each(quantizableDtypes)('%s: has the error that its codes allow', (dtype) => {
    expect(relativeError(values, roundTrip(dtype, values))).toBeLessThan(expectedErrors[dtype]);
  });

  it.each(quantizableDtypes)('%s: keeps zeros, blocks of one value, and scales from tiny to huge', (dtype) => {
    expect([...roundTrip(dtype, new Float32Array(256))]).toEqual(new Array(256).fill(0));
    const constant = new Float32Array(256).fill(-0.75);
    expect(relativeError(constant, roundTrip(dtype, constant))).toBeLessThan(0.04);
    for (const scale of [2 ** -10, 2 ** 10]) {
      const scaled = values.subarray(0, 4096).map((value) => value * scale);
      expect(relativeError(scaled, roundTrip(dtype, scaled))).toBeLessThan(1.05 * expectedErrors[dtype]);
    }
    // All values vanish in f16, or their scale does: zeros, but no NaN.
    for (const restored of roundTrip(
      dtype,
      values.map((value) => value * 2 ** -60),
    ))
      expect(restored).toBeCloseTo(0, 12);
  });

  it.each(quantizableDtypes)('%s: treats each block by itself', (dtype) => {
    const { blockElements, blockBytes } = weightDtypes[dtype];
    const whole = quantizeBlocks(dtype, values.subarray(0, 1024));
    for (let block = 0; block < 1024 / blockElements; block++) {
      const alone = quantizeBlocks(dtype, values.slice(block * blockElements, (block + 1) * blockElements));
      expect(whole.subarray(block * blockBytes, (block + 1) * blockBytes)).toEqual(alone);
    }
  });

  it('gives the extreme value of a q4_0 block the code -8, exact up to the rounding of the scale', () => {
    const block = gaussian(32, 3);
    for (const extreme of [6.5, -6.5]) {
      block[7] = extreme;
      // 6.5 / 8 is exact in f16.
      expect(roundTrip('q4_0', block)[7]).toBe(extreme);
    }
  });

  it('restores values that lie on the levels of a type', () => {
    for (const dtype of ['q8_0', 'q4_0', 'q4_1', 'q5_0', 'q5_1'] as const) {
      const once = roundTrip(dtype, values.subarray(0, 1024));
      const twice = roundTrip(dtype, once);
      // The second scale may differ from the first in the last bit of f16, 2^-11.
      expect(relativeError(once, twice), dtype).toBeLessThan(2 ** -11);
    }
  });

  it('refuses what it cannot hold, by value and place', () => {
    for (const dtype of quantizableDtypes) {
      const { blockElements } = weightDtypes[dtype];
      const spoilt = (value: number) => Float32Array.from({ length: blockElements }, (_, i) => (i === 5 ? value : 0.5));
      expect(() => quantizeBlocks(dtype, spoilt(Number.NaN))).toThrow(/NaN at 5 cannot be quantized/);
      expect(() => quantizeBlocks(dtype, spoilt(Number.POSITIVE_INFINITY))).toThrow(InvalidArgumentError);
      expect(() => quantizeBlocks(dtype, spoilt(3e38))).toThrow(/which f16 cannot hold/);
      expect(() => quantizeBlocks(dtype, new Float32Array(blockElements - 1))).toThrow(/takes multiples of/);
    }
  });
});

describe('the search', () => {
  it('finds the scale of values that lie on a grid, of either sign', () => {
    for (const scale of [0.25, -0.25]) {
      const grid = Float32Array.from({ length: 16 }, (_, i) => scale * (i - 8));
      expect(searchScale(grid, 8)).toBeCloseTo(scale, 12);
    }
    const affine = Float32Array.from({ length: 32 }, (_, i) => 0.5 * (i % 16) - 3);
    const { scale, min } = searchScaleAndMin(affine, 15);
    expect(scale).toBeCloseTo(0.5, 12);
    expect(min).toBeCloseTo(3, 12);
  });

  it('does better than the scale of the extreme value alone', () => {
    let searched = 0;
    let plain = 0;
    for (let seed = 1; seed <= 200; seed++) {
      const x = gaussian(16, seed);
      const error = (scale: number) =>
        x.reduce((sum, value) => {
          const code = Math.max(-4, Math.min(3, Math.round(value / scale)));
          return sum + value * value * (value - scale * code) ** 2;
        }, 0);
      searched += error(searchScale(x, 4));
      plain += error(x.reduce((a, b) => (Math.abs(b) > Math.abs(a) ? b : a)) / -4);
    }
    expect(searched).toBeLessThan(0.75 * plain);
  });
});
