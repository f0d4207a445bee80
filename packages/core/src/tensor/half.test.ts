import { describe, expect, it } from 'vitest';
import { bf16ToF32, f16ToF32, f32ToBf16, f32ToF16 } from './half.ts';

const view = new DataView(new ArrayBuffer(8));

function bitsOf(value: number): number {
  view.setFloat32(0, value);
  return view.getUint32(0);
}

function floatOf(bits: number): number {
  view.setUint32(0, bits);
  return view.getFloat32(0);
}

/** The next float further from zero. */
function away(value: number): number {
  return floatOf(bitsOf(value) + 1);
}

/** The next float nearer to zero. */
function towardsZero(value: number): number {
  return floatOf(bitsOf(value) - 1);
}

describe('f16ToF32', () => {
  it('gives the value that IEEE 754 defines, for all 65536 patterns', () => {
    for (let bits = 0; bits < 65536; bits++) {
      const sign = bits >> 15 === 1 ? -1 : 1;
      const exponent = (bits >> 10) & 31;
      const mantissa = bits & 1023;
      const value = f16ToF32(bits);
      if (exponent === 31 && mantissa !== 0) {
        expect(value, `0x${bits.toString(16)}`).toBeNaN();
        continue;
      }
      // Written with divisions of integers by powers of two, which are exact in f64.
      const expected =
        exponent === 31
          ? sign * Number.POSITIVE_INFINITY
          : exponent === 0
            ? (sign * mantissa) / 2 ** 24
            : (sign * (1024 + mantissa) * 2 ** exponent) / 2 ** 25;
      if (!Object.is(value, expected)) expect(value, `0x${bits.toString(16)}`).toBe(expected);
      if (bitsOf(value) >>> 31 !== bits >> 15) expect.fail(`the sign of 0x${bits.toString(16)} is lost`);
    }
  });
});

describe('f32ToF16', () => {
  it('gives every finite and infinite pattern back', () => {
    for (let bits = 0; bits < 65536; bits++) {
      const value = f16ToF32(bits);
      if (Number.isNaN(value)) continue;
      if (f32ToF16(value) !== bits) expect(f32ToF16(value), `0x${bits.toString(16)}`).toBe(bits);
    }
  });

  it('rounds to nearest, ties to even, around the middle of every pair of neighbours', () => {
    for (let bits = 0; bits < 0x7bff; bits++) {
      // Both neighbours have at most 11 significant bits, so their mean is exact in f32.
      const middle = (f16ToF32(bits) + f16ToF32(bits + 1)) / 2;
      const even = bits % 2 === 0 ? bits : bits + 1;
      for (const sign of [1, -1]) {
        const signBit = sign < 0 ? 0x8000 : 0;
        const results = [f32ToF16(sign * towardsZero(middle)), f32ToF16(sign * middle), f32ToF16(sign * away(middle))];
        const expected = [signBit | bits, signBit | even, signBit | (bits + 1)];
        if (results.join() !== expected.join()) expect(results, `0x${bits.toString(16)}`).toEqual(expected);
      }
    }
  });

  it('overflows at 65520, half a step above the largest finite value', () => {
    expect(f32ToF16(65504)).toBe(0x7bff);
    expect(f32ToF16(towardsZero(65520))).toBe(0x7bff);
    expect(f32ToF16(65520)).toBe(0x7c00);
    expect(f32ToF16(-65520)).toBe(0xfc00);
    expect(f32ToF16(3.4e38)).toBe(0x7c00);
    expect(f32ToF16(Number.POSITIVE_INFINITY)).toBe(0x7c00);
    expect(f32ToF16(Number.NEGATIVE_INFINITY)).toBe(0xfc00);
  });

  it('underflows to a signed zero at 2^-25 and rounds up just above it', () => {
    expect(f32ToF16(2 ** -25)).toBe(0);
    expect(f32ToF16(-(2 ** -25))).toBe(0x8000);
    expect(f32ToF16(away(2 ** -25))).toBe(1);
    expect(f32ToF16(floatOf(1))).toBe(0); // the smallest subnormal float
    expect(f32ToF16(0)).toBe(0);
    expect(f32ToF16(-0)).toBe(0x8000);
  });

  it('keeps NaN a NaN', () => {
    for (const bits of [0x7fc00000, 0x7f800001, 0xffc00000]) {
      const half = f32ToF16(floatOf(bits));
      expect(half & 0x7c00).toBe(0x7c00);
      expect(half & 0x03ff).not.toBe(0);
    }
  });
});

describe('bf16ToF32', () => {
  it('gives the float whose upper half is the pattern, for all 65536 patterns', () => {
    for (let bits = 0; bits < 65536; bits++) {
      const value = bf16ToF32(bits);
      const expected = floatOf(bits * 65536);
      if (!Object.is(value, expected)) expect(value, `0x${bits.toString(16)}`).toBe(expected);
    }
  });
});

describe('f32ToBf16', () => {
  it('gives every pattern that is not a NaN back', () => {
    for (let bits = 0; bits < 65536; bits++) {
      const value = bf16ToF32(bits);
      if (Number.isNaN(value)) continue;
      if (f32ToBf16(value) !== bits) expect(f32ToBf16(value), `0x${bits.toString(16)}`).toBe(bits);
    }
  });

  it('rounds to nearest, ties to even, around the middle of every pair of neighbours', () => {
    for (let bits = 0; bits < 0x7f80; bits++) {
      // The middle in units of the last place is the pattern followed by a one; the largest one rounds to infinity.
      const middle = floatOf(bits * 65536 + 0x8000);
      const even = bits % 2 === 0 ? bits : bits + 1;
      for (const sign of [1, -1]) {
        const signBit = sign < 0 ? 0x8000 : 0;
        const results = [
          f32ToBf16(sign * towardsZero(middle)),
          f32ToBf16(sign * middle),
          f32ToBf16(sign * away(middle)),
        ];
        const expected = [signBit | bits, signBit | even, signBit | (bits + 1)];
        if (results.join() !== expected.join()) expect(results, `0x${bits.toString(16)}`).toEqual(expected);
      }
    }
  });

  it('keeps NaN a NaN, also one whose upper half alone would be an infinity', () => {
    for (const bits of [0x7fc00000, 0x7f800001, 0x7fffffff, 0xff800001]) {
      const rounded = f32ToBf16(floatOf(bits));
      expect(rounded & 0x7f80).toBe(0x7f80);
      expect(rounded & 0x007f).not.toBe(0);
    }
  });
});
