import { describe, expect, it } from 'vitest';
import { exactFma32 } from './__fixtures__/exact-fma32.ts';
import { bitsOf, floatOf, hashFloats, xorshift32 } from './__fixtures__/float-bits.ts';
import { fma32 } from './fma32.ts';

const fround = Math.fround;
const SMALLEST = 2 ** -149;
const LARGEST = (2 - 2 ** -23) * 2 ** 127;

function expectExact(a: number, b: number, c: number): void {
  const got = fma32(a, b, c);
  const want = exactFma32(a, b, c);
  if (!Object.is(got, want)) expect.fail(`fma32(${a}, ${b}, ${c}) is ${got}, exactly rounded it is ${want}`);
}

describe('fma32', () => {
  it('differs from rounding twice exactly where that is wrong', () => {
    // a * b = 1 + 2^-24, halfway between 1 and its neighbour; c, far below a double's last place, decides
    const a = 97 * 257;
    const b = 673 * 2 ** -24;
    expect(a * b).toBe(1 + 2 ** -24);
    for (const [c, want] of [
      [2 ** -60, 1 + 2 ** -23],
      [-(2 ** -60), 1],
      [0, 1],
    ] as const) {
      expect(fma32(a, b, c)).toBe(want);
      expect(fma32(-a, b, -c)).toBe(-want);
    }
    // What this helper exists for: the plain double expression loses c and ties to even.
    expect(fround(a * b + 2 ** -60)).toBe(1);
  });

  it('decides halfway points of every exponent by the tail, up and down', () => {
    const random = xorshift32(1);
    for (let i = 0; i < 10_000; i++) {
      // product = (2^24 + 1) * odd power: 25 significant bits, so it is halfway between two floats
      const scale = 2 ** ((random() % 60) - 30);
      const factor = random() & 1 ? [97 * 257, 673] : [97, 257 * 673];
      const sign = random() & 1 ? 1 : -1;
      const tail = (random() & 1 ? 1 : -1) * fround((random() % 7) * 2 ** -(40 + (random() % 60))) * scale;
      expectExact(sign * factor[0]! * scale, factor[1]!, tail);
    }
  });

  it('decides halfway points that the sum makes', () => {
    const random = xorshift32(2);
    for (let i = 0; i < 10_000; i++) {
      // c carries 24 bits, the product adds half a unit in its last place plus a tail of its own
      const c = fround((2 ** 23 + (random() % 2 ** 23)) * (random() & 1 ? 1 : -1));
      const wobble = 1 + ((random() % 5) - 2) * 2 ** -23;
      const other = 1 + ((random() % 5) - 2) * 2 ** -23;
      expectExact(fround(wobble * 0.5), fround(other), c);
      expectExact(fround(wobble * 2 ** -30), fround(other * 2 ** 29), c);
    }
  });

  it('is exact under cancellation', () => {
    const random = xorshift32(3);
    for (let i = 0; i < 10_000; i++) {
      const a = floatOf((random() & 0x007fffff) | 0x3f800000);
      const b = floatOf((random() & 0x007fffff) | 0x3f800000);
      expectExact(a, b, -fround(a * b));
      expectExact(a, -b, fround(a * b));
    }
  });

  it('rounds denormal results once', () => {
    const random = xorshift32(4);
    for (let i = 0; i < 10_000; i++) {
      const a = floatOf((random() & 0x807fffff) | ((60 + (random() % 10)) << 23));
      const b = floatOf((random() & 0x807fffff) | ((40 + (random() % 10)) << 23));
      const c = floatOf(random() & 0x80001fff);
      expectExact(a, b, c);
    }
    // half of the smallest float: a tie to even, broken by nothing, by a hair up, and by a hair down
    expect(fma32(2 ** -75, 2 ** -75, 0)).toBe(0);
    expect(fma32(2 ** -75, 2 ** -75 * (1 + 2 ** -23), 0)).toBe(SMALLEST);
    expect(fma32(2 ** -75, 2 ** -75, SMALLEST)).toBe(2 * SMALLEST);
    expect(fma32(2 ** -75, 2 ** -75 * (1 - 2 ** -24), SMALLEST)).toBe(SMALLEST);
    // far below half of it: a zero with the sign of the exact value
    expect(Object.is(fma32(-(2 ** -149), 2 ** -149, 0), -0)).toBe(true);
    expect(Object.is(fma32(2 ** -149, 2 ** -149, -0), 0)).toBe(true);
  });

  it('overflows where the exact value does, and not before', () => {
    // LARGEST + half a unit is the tie that goes to infinity; a hair less stays
    const halfUnit = 2 ** 103;
    expect(fma32(halfUnit, 1, LARGEST)).toBe(Number.POSITIVE_INFINITY);
    expect(fma32(halfUnit, 1 - 2 ** -24, LARGEST)).toBe(LARGEST);
    expect(fma32(-halfUnit, 1, -LARGEST)).toBe(Number.NEGATIVE_INFINITY);
    expect(fma32(LARGEST, 2, -LARGEST)).toBe(LARGEST);
    expect(fma32(LARGEST, LARGEST, -LARGEST)).toBe(Number.POSITIVE_INFINITY);
    // 2^128 - 2^103 from the product, pulled below the tie by the smallest float: only the tail knows
    for (const [x, y] of factorsOf2Pow25Minus1()) {
      expect(fma32(x * 2 ** 103, y, -SMALLEST)).toBe(LARGEST);
      expect(fma32(x * 2 ** 103, y, SMALLEST)).toBe(Number.POSITIVE_INFINITY);
      expect(fma32(x * 2 ** 103, y, 0)).toBe(Number.POSITIVE_INFINITY);
    }
  });

  it('follows IEEE 754 for zeros, infinities and NaN', () => {
    const inf = Number.POSITIVE_INFINITY;
    expect(Object.is(fma32(0, 1, -0), 0)).toBe(true);
    expect(Object.is(fma32(-0, 1, -0), -0)).toBe(true);
    expect(Object.is(fma32(-0, 1, 0), 0)).toBe(true);
    expect(Object.is(fma32(3, 5, -15), 0)).toBe(true);
    expect(Object.is(fma32(-3, 5, 15), 0)).toBe(true);
    expect(fma32(inf, 2, 1)).toBe(inf);
    expect(fma32(inf, -2, 1)).toBe(-inf);
    expect(fma32(LARGEST, LARGEST, -inf)).toBe(-inf);
    expect(fma32(inf, 1, -inf)).toBeNaN();
    expect(fma32(inf, 0, 1)).toBeNaN();
    expect(fma32(Number.NaN, 1, 1)).toBeNaN();
    expect(fma32(1, 1, Number.NaN)).toBeNaN();
  });

  it('equals exact arithmetic on random triples of all sizes', () => {
    const random = xorshift32(5);
    for (let i = 0; i < 10_000; i++) {
      // any bits (infinities and NaN are the case above), then sums of comparable size, where rounding is hard
      const a = floatOf(random());
      const b = floatOf(random());
      const c = floatOf(random());
      if (Number.isFinite(a) && Number.isFinite(b) && Number.isFinite(c)) expectExact(a, b, c);
      const near = (value: number) => floatOf((bitsOf(value) & 0x80fff000) | 0x3e000000);
      expectExact(near(a), near(b), near(c));
    }
  });

  it('gives the bits that hardware FMA gave for the same million triples', () => {
    // Recorded from std::fma(float, float, float), g++ 12 -mfma -ffp-contract=off, on the same generator.
    const random = xorshift32(0x12345678);
    const hash = hashFloats(1_000_000, () => {
      const a = random();
      const b = random();
      const c = random();
      // mantissas of 12 and 13 bits: every fourth product is halfway between two floats, c is far below or near
      const multiplier = floatOf((a & 0x807ff000) | 0x3f800000);
      const factor = floatOf((b & 0x807ff800) | 0x3f800000);
      return fma32(multiplier, factor, floatOf((c & 0x807fffff) | ((60 + ((c >>> 23) % 80)) << 23)));
    });
    expect(hash).toBe('4152d5e8');
  });
});

/** Pairs of floats whose product is 2^25 - 1, the halfway point above the 24-bit mantissa of all ones. */
function factorsOf2Pow25Minus1(): [number, number][] {
  return [
    [31, 601 * 1801],
    [31 * 601, 1801],
    [31 * 1801, 601],
  ];
}
