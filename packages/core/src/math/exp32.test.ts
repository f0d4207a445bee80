import { describe, expect, it } from 'vitest';
import { floatOf, hashFloats, ulpError } from './__fixtures__/float-bits.ts';
import { exp32 } from './exp32.ts';

describe('exp32', () => {
  it('is exact at its edges', () => {
    expect(exp32(0)).toBe(1);
    expect(exp32(-0)).toBe(1);
    expect(exp32(Number.NEGATIVE_INFINITY)).toBe(0);
    expect(exp32(Number.POSITIVE_INFINITY)).toBe(Number.POSITIVE_INFINITY);
    expect(exp32(Number.NaN)).toBeNaN();
    expect(exp32(floatOf(0x80000001))).toBe(1);
  });

  it('is +0 below -87 and infinite above 88, and finite and normal at both', () => {
    const justBelow = Math.fround(-87 - 2 ** -17);
    expect(justBelow).toBeLessThan(-87);
    expect(Object.is(exp32(justBelow), 0)).toBe(true);
    expect(exp32(-87)).toBeGreaterThan(2 ** -126);
    expect(exp32(Math.fround(88 + 2 ** -17))).toBe(Number.POSITIVE_INFINITY);
    expect(exp32(88)).toBeGreaterThan(1e38);
    expect(exp32(88)).toBeLessThan(Number.POSITIVE_INFINITY);
  });

  it('stays within 1.02 ulp of the exact value', () => {
    // Measured worst: 1.0095 ulp near -59.9, over every third float of [-87, 0] and every fifth of [2^-32, 88]. The
    // bound leaves room for the error of Math.exp itself, which is far below a hundredth of an f32 ulp.
    let worst = 0;
    for (let i = -217_500; i <= 220_000; i++) {
      const x = Math.fround(i * 4e-4 + 3e-5);
      if (x < -87 || x > 88) continue;
      worst = Math.max(worst, ulpError(exp32(x), Math.exp(x)));
    }
    expect(worst).toBeLessThan(1.02);
    expect(worst).toBeGreaterThan(0.9); // the sample is dense enough to see the known error
  });

  it('never falls where x rises', () => {
    // Truncation filters cut a sorted list at the first weight that is too small; that is only right if this holds.
    let previous = -1;
    for (let i = -217_500; i <= 220_000; i++) {
      const value = exp32(Math.fround(i * 4e-4));
      if (value < previous) expect.fail(`exp32 falls at ${i * 4e-4}`);
      previous = value;
    }
  });

  it('gives the bits that a C++ twin gave for 430,659 inputs of all kinds', () => {
    // Recorded from the same operations in C++ (g++ 12, -mfma -ffp-contract=off). Another hash is another numerics version.
    expect(hashFloats(430_659, (i) => exp32(floatOf(i * 9973)))).toBe('0b7ce853');
  });
});
