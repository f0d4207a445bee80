import { decodeElements, f16ToF32, InvalidArgumentError, splitQuantizedBlocks, type WeightDtype } from '@hearth/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeElements } from './encode.ts';

const ramp = (of: (i: number) => number) => Float32Array.from({ length: 32 }, (_, i) => of(i));

/** A block of weights of some magnitude that f16 scales can follow. */
const block = fc
  .record({
    exponent: fc.integer({ min: -8, max: 12 }),
    values: fc.array(fc.float({ min: -1, max: 1, noNaN: true }), { minLength: 32, maxLength: 32 }),
  })
  .map(({ exponent, values }) => Float32Array.from(values, (value) => value * 2 ** exponent));

const largestMagnitude = (values: Float32Array) =>
  values.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0);

/**
 * The largest distance between a value and what comes back, for a range of `span` cut into `steps` steps: half a step from
 * rounding to codes; one f16 rounding of the scale (2^-11 of it, times a code of at most `steps`), which also moves where the
 * range ends; and for subnormal scales and minimums their absolute spacing of 2^-25, again times a code.
 */
function bound(span: number, steps: number): number {
  return span / steps / 2 + span * 2 ** -10 + (steps + 1) * 2 ** -25;
}

describe('encodeElements', () => {
  it('q8_0: keeps whole multiples of the scale', () => {
    const values = ramp((i) => (i === 0 ? -127 : i) / 4);
    expect([...decodeElements('q8_0', encodeElements('q8_0', values))]).toEqual([...values]);
  });

  it('q4_0: the value of largest magnitude is exact, whatever its sign, and gets code −8', () => {
    for (const sign of [1, -1]) {
      const values = ramp((i) => (i === 5 ? 4 * sign : ((i % 16) - 8) / 4));
      const bytes = encodeElements('q4_0', values);
      const { codes, scales } = splitQuantizedBlocks('q4_0', bytes);
      expect(scales[0]).toBe(-sign / 2);
      expect(codes[5]).toBe(-8);
      expect(decodeElements('q4_0', bytes)[5]).toBe(4 * sign);
    }
  });

  it('q4_1: both ends of the range are exact when f16 holds scale and minimum', () => {
    const values = ramp((i) => 1 + (i % 16) / 8);
    expect([...decodeElements('q4_1', encodeElements('q4_1', values))]).toEqual([...values]);
  });

  it('computes codes from the scale as it is stored', () => {
    // The scale 1.0004 is stored as 1. The value 100.52 is 100.48 of the one and 100.52 of the other.
    const values = ramp((i) => (i === 0 ? 127 * 1.0004 : i === 1 ? 100.52 : 0));
    const { codes, scales } = splitQuantizedBlocks('q8_0', encodeElements('q8_0', values));
    expect(scales[0]).toBe(1);
    expect(codes[1]).toBe(101);
  });

  it('gives zeros for blocks of zeros and of values below every f16 scale', () => {
    for (const dtype of ['q8_0', 'q4_0', 'q4_1'] as const) {
      for (const value of [0, -0, 1e-30]) {
        const encoded = encodeElements(dtype, new Float32Array(32).fill(value));
        expect([...decodeElements(dtype, encoded)]).toEqual(new Array(32).fill(0));
      }
    }
  });

  for (const [dtype, steps, spanOf] of [
    ['q8_0', 254, (values: Float32Array) => 2 * largestMagnitude(values)],
    // From −8 to 7 the step is an eighth of the extreme; the end without a code of its own lies one step further.
    ['q4_0', 8, (values: Float32Array) => 2 * largestMagnitude(values)],
    [
      'q4_1',
      15,
      (values: Float32Array) => Math.max(...values) - Math.min(...values) + 2 ** -10 * largestMagnitude(values),
    ],
  ] as const) {
    it(`${dtype}: stays within its step of every value`, () => {
      fc.assert(
        fc.property(block, (values) => {
          const decoded = decodeElements(dtype, encodeElements(dtype, values));
          const limit = bound(spanOf(values), steps);
          const errors = decoded.map((value, i) => Math.abs(value - values[i]!));
          expect(Math.max(...errors)).toBeLessThanOrEqual(limit);
        }),
        { seed: 5, numRuns: 300 },
      );
    });
  }

  it('gives the same bytes again for what it decoded, so that converting twice loses nothing', () => {
    fc.assert(
      fc.property(block, (values) => {
        // Below, scales are subnormal f16: too coarse for the extreme to keep the extreme code.
        fc.pre(largestMagnitude(values) >= 127 * 2 ** -14);
        for (const dtype of ['q8_0', 'q4_0'] as const) {
          const bytes = encodeElements(dtype, values);
          expect(encodeElements(dtype, decodeElements(dtype, bytes))).toEqual(bytes);
        }
      }),
      { seed: 6, numRuns: 100 },
    );
  });

  it('f16 and bf16: round to nearest even', () => {
    expect([...encodeElements('f16', Float32Array.of(1, 1 + 2 ** -11, 65504))]).toEqual([0, 0x3c, 0, 0x3c, 0xff, 0x7b]);
    expect([...encodeElements('bf16', Float32Array.of(1 + 2 ** -8, 1 + 3 * 2 ** -8))]).toEqual([
      0x80, 0x3f, 0x82, 0x3f,
    ]);
  });

  it('refuses values that would become infinite, and keeps those that are', () => {
    expect(() => encodeElements('f16', Float32Array.of(0, 65520))).toThrow(/65520 at 1 is too large for f16/);
    expect(() => encodeElements('bf16', Float32Array.of(3.4e38))).toThrow(InvalidArgumentError);
    expect(f16ToF32(encodeElements('f16', Float32Array.of(Number.POSITIVE_INFINITY))[1]! << 8)).toBe(
      Number.POSITIVE_INFINITY,
    );
  });

  it('refuses what a quantized type cannot hold, and values that are no whole blocks', () => {
    for (const dtype of ['q8_0', 'q4_0', 'q4_1'] as WeightDtype[]) {
      for (const value of [Number.NaN, Number.POSITIVE_INFINITY, 1e30]) {
        expect(() =>
          encodeElements(
            dtype,
            ramp((i) => (i === 9 ? value : 0)),
          ),
        ).toThrow(InvalidArgumentError);
      }
      expect(() => encodeElements(dtype, new Float32Array(33))).toThrow(/multiples of 32 values, got 33/);
    }
  });
});
