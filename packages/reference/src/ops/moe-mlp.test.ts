import { NumericError } from '@hearth/core';
import { describe, expect, it } from 'vitest';
import { firstDifference } from '../__fixtures__/first-difference.ts';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { embeddedRows, tightRows, unitRoundoff } from '../__fixtures__/rows.ts';
import { EventLoopTurn } from '../event-loop-turn.ts';
import type { DenseMatrix } from '../matrix.ts';
import { copyRows } from '../rows.ts';
import { chooseExperts } from './choose-experts.ts';
import { type MoeMlp, moeMlp } from './moe-mlp.ts';

const [hidden, expertWidth, numExperts] = [17, 9, 5];

function dense(random: () => number, rows: number, columns: number): DenseMatrix {
  const values = randomFloats(random, rows * columns, 1 / Math.sqrt(columns));
  return { kind: 'dense', rows, columns, values };
}

function someMoe(more: Partial<MoeMlp> = {}): MoeMlp {
  const random = seededRandom(1);
  const experts = Array.from({ length: numExperts }, () => ({
    gate: dense(random, expertWidth, hidden),
    up: dense(random, expertWidth, hidden),
    down: dense(random, hidden, expertWidth),
  }));
  return { name: 'mlp', experts, numExpertsPerToken: 2, normalizeWeights: true, activation: 'silu', ...more };
}

async function run(moe: MoeMlp, x: Float32Array, logits: Float32Array): Promise<Float32Array> {
  const numRows = x.length / hidden;
  const out = embeddedRows(new Float32Array(x.length).fill(Number.NaN), hidden);
  const turn = new EventLoopTurn();
  await moeMlp(moe, embeddedRows(x, hidden), embeddedRows(logits, moe.experts.length), out, numRows, turn);
  return copyRows(out, numRows);
}

describe('chooseExperts', () => {
  const choose = (logits: number[], count: number, normalize: boolean) =>
    chooseExperts(tightRows(Float32Array.from(logits), logits.length), 0, count, normalize);

  it('takes the largest logits, in ascending id, with their softmax over all experts', () => {
    const logits = [0.5, 3, -1, 2, 0];
    const total = logits.reduce((sum, logit) => sum + Math.exp(logit), 0);
    const chosen = choose(logits, 2, false);
    expect(chosen.map(({ expert }) => expert)).toEqual([1, 3]);
    for (const { expert, weight } of chosen) {
      // Two exponentials within 2 roundings each, the sum of five and the quotient.
      expect(Math.abs(weight / (Math.exp(logits[expert]!) / total) - 1)).toBeLessThanOrEqual(12 * unitRoundoff);
    }
  });

  it('prefers lower ids where logits are equal, +0 and −0 among them', () => {
    expect(choose([1, 2, 2, 2, 1], 2, false).map(({ expert }) => expert)).toEqual([1, 2]);
    expect(choose([-0, 0, 0, -0], 3, false).map(({ expert }) => expert)).toEqual([0, 1, 2]);
  });

  it('divides by the sum of the chosen ones when asked, which is then 1', () => {
    const weights = choose([0, Math.log(3), -50, -50], 2, true).map(({ weight }) => weight);
    expect(weights[0]).toBeCloseTo(0.25, 6); // f32 has 7 digits
    expect(weights[1]).toBeCloseTo(0.75, 6);
    expect(choose([7, -200], 2, true).map(({ weight }) => weight)).toEqual([1, 0]);
  });

  it('adds the chosen weights from the largest down', () => {
    // 1, and twice 2^-24: from above the small ones vanish one by one, from below they would count.
    const small = Math.log(2 ** -24);
    const chosen = choose([small, small, 0], 3, false).map(({ weight }) => weight);
    const fround = Math.fround;
    const fromLargest = fround(fround(chosen[2]! + chosen[0]!) + chosen[1]!);
    expect(fround(fround(chosen[0]! + chosen[1]!) + chosen[2]!)).not.toBe(fromLargest);
    const [, , largest] = choose([small, small, 0], 3, true);
    expect(largest!.weight).toBe(fround(chosen[2]! / fromLargest));
  });
});

describe('moeMlp', () => {
  const x = randomFloats(seededRandom(2), 7 * hidden);
  const logits = randomFloats(seededRandom(3), 7 * numExperts);

  it('equals the formula in f64', async () => {
    const moe = someMoe();
    const got = await run(moe, x, logits);
    const times = ({ rows, columns, values }: DenseMatrix, v: number[]) =>
      Array.from({ length: rows }, (_, r) => v.reduce((sum, value, k) => sum + values[r * columns + k]! * value, 0));
    for (let t = 0; t < 7; t++) {
      const row = [...x.subarray(t * hidden, (t + 1) * hidden)];
      const chosen = chooseExperts(tightRows(logits, numExperts), t, 2, true);
      const expected = new Array(hidden).fill(0);
      for (const { expert, weight } of chosen) {
        const { gate, up, down } = moe.experts[expert]! as Record<'gate' | 'up' | 'down', DenseMatrix>;
        const ups = times(up, row);
        const h = times(gate, row).map((value, i) => (value / (1 + Math.exp(-value))) * ups[i]!);
        for (const [i, value] of times(down, h).entries()) expected[i] += weight * value;
      }
      // Values near 1 after three short products: f32 keeps 5 digits at the least. The exact order is held by equality elsewhere.
      for (const [i, value] of expected.entries()) expect(got[t * hidden + i]).toBeCloseTo(value, 5);
    }
  });

  it('gives each row the same alone and among others, wherever the others go', async () => {
    const together = await run(someMoe(), x, logits);
    const toOne = logits.map((_, i) => (i % numExperts === 4 ? 9 : i % numExperts));
    const crowded = await run(someMoe(), x, toOne);
    for (let t = 0; t < 7; t++) {
      const row = x.subarray(t * hidden, (t + 1) * hidden);
      const own = (all: Float32Array) => all.subarray(t * numExperts, (t + 1) * numExperts);
      const cut = (all: Float32Array) => all.slice(t * hidden, (t + 1) * hidden);
      expect(firstDifference(await run(someMoe(), row, own(logits)), cut(together))).toBeNull();
      expect(firstDifference(await run(someMoe(), row, own(toOne)), cut(crowded))).toBeNull();
    }
  });

  it('names the op when a value within an expert is not finite, though its weight be 0', async () => {
    const moe = someMoe({ normalizeWeights: false });
    (moe.experts[3]!.up as DenseMatrix).values[0] = Number.POSITIVE_INFINITY;
    const far = Float32Array.from({ length: numExperts }, (_, i) => (i === 0 ? 200 : i === 3 ? 0 : -1));
    const step = run(moe, new Float32Array(hidden).fill(1), far);
    await expect(step).rejects.toThrow(NumericError);
    await expect(step).rejects.toMatchObject({ op: 'mlp' });
  });
});
