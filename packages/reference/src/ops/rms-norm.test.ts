import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, embeddedRows, tightRows, unitRoundoff } from '../__fixtures__/rows.ts';
import { copyRows } from '../rows.ts';
import { rmsNorm } from './rms-norm.ts';

describe('rmsNorm', () => {
  it.each(awkwardSizes)('equals the formula in f64 to within its roundings (width %i)', (width) => {
    const random = seededRandom(width);
    const numRows = 3;
    const x = randomFloats(random, numRows * width, 3);
    const weight = randomFloats(random, width);
    const out = embeddedRows(new Float32Array(numRows * width), width);
    rmsNorm(embeddedRows(x, width), weight, 1e-5, out, numRows);
    const got = copyRows(out, numRows);

    // All terms of the sum are positive, so its relative error is at most one rounding for each of the ceil(width / 8) steps
    // of a lane and the 3 of the tree; quotient, sum with eps (rounded itself) add 3; the root halves all of that; root,
    // inverse and two products add 4. Doubled for terms of second order.
    const roundings = (Math.ceil(width / 8) + 3 + 3) / 2 + 4;
    for (let t = 0; t < numRows; t++) {
      const row = x.subarray(t * width, (t + 1) * width);
      const meanSquare = row.reduce((sum, value) => sum + value * value, 0) / width;
      for (let i = 0; i < width; i++) {
        const exact = (row[i]! / Math.sqrt(meanSquare + 1e-5)) * weight[i]!;
        expect(Math.abs(got[t * width + i]! - exact)).toBeLessThanOrEqual(
          2 * roundings * unitRoundoff * Math.abs(exact),
        );
      }
    }
  });

  it('is exact where every step is: rows of one magnitude', () => {
    const x = Float32Array.from({ length: 16 }, (_, i) => (i % 2 ? 2 : -2));
    const out = tightRows(new Float32Array(16), 16);
    rmsNorm(tightRows(x, 16), new Float32Array(16).fill(3), 0, out, 1);
    expect(out.data).toEqual(x.map((value) => value * 1.5));
  });

  it('adds lanes in the order of the contract', () => {
    // Lane 0 holds 1 and then 2^-24 twice: 1 + 2^-24 rounds to 1 each time. Adding the small squares first would give
    // 1 + 2^-23, which shows in the output at this width.
    const [width, x] = [20, new Float32Array(20)];
    x.set([1], 0);
    x.set([2 ** -12], 8);
    x.set([2 ** -12], 16);
    const out = tightRows(new Float32Array(width), width);
    rmsNorm(tightRows(x, width), new Float32Array(width).fill(1), 0, out, 1);
    const { fround, sqrt } = Math;
    const scaleOf = (sum: number) => fround(1 / fround(sqrt(fround(sum / width))));
    expect(scaleOf(1)).not.toBe(scaleOf(1 + 2 ** -23));
    expect(out.data[0]).toBe(scaleOf(1));
  });

  it.each(awkwardSizes)('normalises each group as a row of its own (groups of %i)', (groupWidth) => {
    const x = randomFloats(seededRandom(groupWidth), 2 * 3 * groupWidth, 3);
    const weight = randomFloats(seededRandom(5), groupWidth);
    const [grouped, single] = [3 * groupWidth, groupWidth].map((width) => {
      const out = embeddedRows(new Float32Array(x.length), width);
      const numRows = x.length / width;
      rmsNorm(embeddedRows(x, width), weight, 1e-6, out, numRows);
      return copyRows(out, numRows);
    });
    expect(grouped).toEqual(single);
  });

  it('keeps tiny rows near eps and huge rows finite', () => {
    const x = Float32Array.of(1e-20, 1e-20, 1e18, -1e18);
    const out = tightRows(new Float32Array(4), 2);
    rmsNorm(tightRows(x, 2), Float32Array.of(1, 1), 1e-5, out, 2);
    expect(out.data[0]! / (1e-20 / Math.sqrt(1e-5))).toBeCloseTo(1, 6); // f32 has 7 digits
    expect([...out.data.subarray(2)]).toEqual([1, -1]);
  });
});
