import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { unitRoundoff } from '../__fixtures__/rows.ts';
import { attendHead } from './attention.ts';

/** softmax(scale · q · kᵀ) · v in f64, and how much a score can be off in f32. */
function exactAttention(
  q: Float32Array,
  keys: Float32Array,
  values: Float32Array,
  first: number,
  last: number,
  scale: number,
): { out: number[]; scoreError: number; largestValue: number } {
  const headDim = q.length;
  const scores: number[] = [];
  let scoreError = 0;
  let largestValue = 0;
  for (let p = first; p <= last; p++) {
    let score = 0;
    let magnitude = 0;
    for (let d = 0; d < headDim; d++) {
      score += q[d]! * keys[p * headDim + d]!;
      magnitude += Math.abs(q[d]! * keys[p * headDim + d]!);
      largestValue = Math.max(largestValue, Math.abs(values[p * headDim + d]!));
    }
    scores.push(score * scale);
    // headDim steps of the chain and the product with scale; then the subtraction of the maximum.
    scoreError = Math.max(scoreError, (headDim + 3) * unitRoundoff * magnitude * scale);
  }
  const max = Math.max(...scores);
  const weights = scores.map((score) => Math.exp(score - max));
  const sum = weights.reduce((total, weight) => total + weight, 0);
  const out = Array.from({ length: headDim }, (_, d) =>
    weights.reduce((total, weight, i) => total + (weight / sum) * values[(first + i) * headDim + d]!, 0),
  );
  return { out, scoreError, largestValue };
}

function attend(
  q: Float32Array,
  keys: Float32Array,
  values: Float32Array,
  first: number,
  last: number,
  scale: number,
  softcap: number | null = null,
): Float32Array {
  const out = new Float32Array(q.length);
  attendHead(q, keys, values, first, last, { scale, softcap }, out);
  return out;
}

describe('attendHead', () => {
  // Lengths around tiles of 64 and groups of 512, windows that start inside both.
  it.each([
    [0, 0, 8],
    [0, 1, 16],
    [0, 6, 3],
    [0, 63, 16],
    [0, 64, 16],
    [0, 65, 33],
    [0, 511, 16],
    [0, 512, 16],
    [0, 700, 64],
    [0, 1100, 8],
    [5, 5, 16],
    [60, 70, 16],
    [63, 64, 16],
    [130, 700, 16],
    [512, 600, 16],
    [600, 1100, 17],
  ])('equals softmax in f64 over positions %i … %i (headDim %i)', (first, last, headDim) => {
    const random = seededRandom(last + headDim);
    const scale = Math.fround(1 / Math.sqrt(headDim));
    const q = randomFloats(random, headDim, 2);
    const keys = randomFloats(random, (last + 1) * headDim);
    const values = randomFloats(random, (last + 1) * headDim);
    const got = attend(q, keys, values, first, last, scale);
    const { out, scoreError, largestValue } = exactAttention(q, keys, values, first, last, scale);
    // Each weight is off by the factor exp(±2 · scoreError) and a few units of exp itself (below 2 units, twice: tile and
    // rescaling, up to once per tile); sums of n weights and n products round once a step. All relative to the largest value.
    const positions = last - first + 1;
    const tiles = Math.ceil(positions / 64) + 1;
    const bound = (4 * scoreError + (2 * positions + 8 * tiles + 8) * unitRoundoff) * largestValue;
    for (const [d, exact] of out.entries()) expect(Math.abs(got[d]! - exact)).toBeLessThanOrEqual(bound);
  });

  it('gives the value itself when one position is visible', () => {
    const values = randomFloats(seededRandom(1), 40 * 8);
    const q = randomFloats(seededRandom(2), 8, 100);
    expect(attend(q, values, values, 39, 39, 1)).toEqual(values.slice(39 * 8, 40 * 8));
  });

  it('does not look at positions outside first … last', () => {
    const random = seededRandom(3);
    const keys = randomFloats(random, 700 * 8);
    const values = randomFloats(random, 700 * 8);
    const q = randomFloats(random, 8);
    const before = attend(q, keys, values, 70, 600, 0.3);
    keys.fill(Number.NaN, 0, 70 * 8).fill(Number.NaN, 601 * 8);
    values.fill(Number.NaN, 0, 70 * 8).fill(Number.NaN, 601 * 8);
    expect(attend(q, keys, values, 70, 600, 0.3)).toEqual(before);
  });

  it('stays exact when a later tile has a much larger score', () => {
    // All weight goes to position 600: everything before is rescaled by exp of −1000, which is 0.
    const keys = new Float32Array(700 * 2);
    const values = randomFloats(seededRandom(4), 700 * 2);
    keys[600 * 2] = 1000;
    expect(attend(Float32Array.of(1, 0), keys, values, 0, 699, 1)).toEqual(values.slice(1200, 1202));
  });

  it('caps scores before the softmax', () => {
    // Scores of 40 and 0 with a cap of 10: tanh(4) · 10 and 0.
    const keys = Float32Array.of(40, 0);
    const values = Float32Array.of(1, 0);
    const [got] = attend(Float32Array.of(1), keys, values, 0, 1, 1, 10);
    const weight = Math.exp(10 * Math.tanh(4));
    expect(got).toBeCloseTo(weight / (weight + 1), 6); // f32 has 7 digits
    expect(attend(Float32Array.of(1), keys, values, 0, 1, 1)[0]).toBe(1);
  });
});
