import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, embeddedRows, tightRows, unitRoundoff } from '../__fixtures__/rows.ts';
import { copyRows } from '../rows.ts';
import { layerNorm } from './layer-norm.ts';

describe('layerNorm', () => {
  it.each(awkwardSizes)('equals the formula in f64 to within its roundings (width %i)', (width) => {
    const random = seededRandom(width);
    const numRows = 3;
    const eps = 1e-5;
    const x = randomFloats(random, numRows * width, 2);
    const weight = randomFloats(random, width);
    const bias = randomFloats(random, width);
    const out = embeddedRows(new Float32Array(numRows * width), width);
    layerNorm(embeddedRows(x, width), weight, bias, eps, out, numRows);
    const got = copyRows(out, numRows);

    // The mean is off by at most one rounding of the largest |x| for each step of a lane (ceil(width / 8)), of the tree (3)
    // and the quotient; that shifts every difference, relative to the deviation by so much times largest / deviation. The
    // variance and its root add (steps + 6) / 2, root, inverse and products 5. Doubled for terms of second order.
    const steps = Math.ceil(width / 8) + 4;
    for (let t = 0; t < numRows; t++) {
      const row = x.subarray(t * width, (t + 1) * width);
      const mean = row.reduce((sum, value) => sum + value, 0) / width;
      const variance = row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width;
      const deviation = Math.sqrt(variance + eps);
      const largest = row.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      for (let i = 0; i < width; i++) {
        const scaled = ((row[i]! - mean) / deviation) * weight[i]!;
        const shift = ((steps * largest) / deviation) * Math.abs(weight[i]!);
        const bound =
          2 * unitRoundoff * (2 * shift + (steps + 8) * Math.abs(scaled) + Math.abs(scaled) + Math.abs(bias[i]!));
        expect(Math.abs(got[t * width + i]! - (scaled + bias[i]!))).toBeLessThanOrEqual(bound);
      }
    }
  });

  it('is exact where every step is, and gives the bias for a row of one value', () => {
    const x = Float32Array.of(1, 3, 1, 3, 7, 7, 7, 7);
    const out = tightRows(new Float32Array(8), 4);
    const [weight, bias] = [new Float32Array(4).fill(3), Float32Array.of(0, 10, 20, 30)];
    layerNorm(tightRows(x.subarray(0, 4), 4), weight, bias, 0, out, 1);
    expect([...out.data.subarray(0, 4)]).toEqual([-3, 13, 17, 33]);
    layerNorm(tightRows(x.subarray(4), 4), weight, bias, 1e-5, out, 1);
    expect(out.data.subarray(0, 4)).toEqual(bias);
  });

  it('adds lanes in the order of the contract', () => {
    // Lane 0 of the sum holds 1 and then 2^-24 twice, which 1 swallows each time; added first they would show in the mean.
    const x = new Float32Array(20);
    x.set([1], 0);
    x.set([2 ** -24], 8);
    x.set([2 ** -24], 16);
    const out = tightRows(new Float32Array(20), 20);
    // Beside this eps the variance vanishes, so the scale is 2^-20 and element 1, which is 0, shows the mean itself.
    layerNorm(tightRows(x, 20), new Float32Array(20).fill(1), new Float32Array(20), 2 ** 40, out, 1);
    const mean = Math.fround(1 / 20);
    expect(Math.fround((1 + 2 ** -23) / 20)).not.toBe(mean);
    expect(out.data[1]).toBe(-mean * 2 ** -20);
  });
});
