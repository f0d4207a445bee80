import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, embeddedRows, unitRoundoff } from '../__fixtures__/rows.ts';
import { copyRows } from '../rows.ts';
import { activation, geluTanh, silu } from './activation.ts';

describe('silu', () => {
  it('equals x / (1 + exp(−x)) to within a few roundings', () => {
    const random = seededRandom(1);
    let worst = 0;
    for (let i = 0; i < 20000; i++) {
      const x = Math.fround((random() - 0.5) * 170);
      const exact = x / (1 + Math.exp(-x));
      worst = Math.max(worst, Math.abs(silu(x) - exact) / Math.abs(exact));
    }
    // exp is within 2 roundings' worth (its own test says so) and counts at most fully; the sum and the quotient add two.
    expect(worst).toBeLessThanOrEqual(6 * unitRoundoff);
  });

  it('is 0 at 0 and for numbers whose exponential overflows, x where it vanishes', () => {
    expect(silu(0)).toBe(0);
    expect(silu(-89)).toBe(-0);
    expect(silu(100)).toBe(100);
  });
});

describe('geluTanh', () => {
  it('equals 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 x³))) to within its roundings', () => {
    const random = seededRandom(2);
    for (let i = 0; i < 20000; i++) {
      const x = Math.fround((random() - 0.5) * 18);
      const u = Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3);
      // 0.5 · (1 + tanh(u)) is the sigmoid of 2u; written so, f64 loses no digits where tanh is near −1.
      const exact = x / (1 + Math.exp(-2 * u));
      // u is off by 5 roundings (two constants, z, fma, product), which exp(−2u) turns into so many times 2|u|; exp itself,
      // the sum and the quotient add 6 as in silu.
      const bound = (6 + 10 * Math.abs(u)) * unitRoundoff * Math.abs(exact);
      expect(Math.abs(geluTanh(x) - exact)).toBeLessThanOrEqual(bound);
    }
  });

  it('is 0 at 0 and for numbers far below it, x far above it, also where x² is infinite', () => {
    expect(geluTanh(0)).toBe(0);
    expect(geluTanh(-20)).toBe(-0);
    expect(geluTanh(20)).toBe(20);
    expect(geluTanh(1e30)).toBe(Math.fround(1e30));
    expect(geluTanh(-1e30)).toBe(-0);
  });
});

describe('activation', () => {
  it.each(awkwardSizes)('applies the function to every element, in place too (width %i)', (width) => {
    const x = randomFloats(seededRandom(width), 2 * width, 3);
    for (const [kind, each] of [
      ['silu', silu],
      ['gelu-tanh', geluTanh],
    ] as const) {
      const out = embeddedRows(new Float32Array(2 * width), width);
      activation(kind, embeddedRows(x, width), out, 2);
      expect(copyRows(out, 2)).toEqual(x.map(each));
      const inPlace = embeddedRows(x, width);
      activation(kind, inPlace, inPlace, 2);
      expect(copyRows(inPlace, 2)).toEqual(x.map(each));
    }
  });
});
