import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, embeddedRows, unitRoundoff } from '../__fixtures__/rows.ts';
import { copyRows } from '../rows.ts';
import { softcap } from './softcap.ts';

describe('softcap', () => {
  it.each(awkwardSizes)('equals cap · tanh(x / cap) in f64 to within a few roundings (width %i)', (width) => {
    const x = randomFloats(seededRandom(width), 3 * width, 40);
    const rows = embeddedRows(x, width);
    softcap(rows, 30, 3);
    for (const [i, got] of copyRows(rows, 3).entries()) {
      const exact = 30 * Math.tanh(x[i]! / 30);
      // tanh is within 1.5 units (3 roundings, its own test says so); quotient (whose error tanh does not magnify) and product.
      expect(Math.abs(got - exact)).toBeLessThanOrEqual(6 * unitRoundoff * Math.abs(exact));
    }
  });

  it('keeps small values and never passes the cap', () => {
    const rows = embeddedRows(Float32Array.of(1e-6, 1e9, -1e9, 0), 4);
    softcap(rows, 50, 1);
    const [small, ...rest] = copyRows(rows, 1);
    expect(small! / 1e-6).toBeCloseTo(1, 6); // f32 has 7 digits
    expect(rest).toEqual([50, -50, 0]);
  });
});
