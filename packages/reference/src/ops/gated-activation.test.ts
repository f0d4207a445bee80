import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, embeddedRows, unitRoundoff } from '../__fixtures__/rows.ts';
import { copyRows } from '../rows.ts';
import { gatedActivation, silu } from './gated-activation.ts';

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

describe('gatedActivation', () => {
  it.each(awkwardSizes)('is silu(gate) · up, over the gate too (width %i)', (width) => {
    const random = seededRandom(width);
    const gate = randomFloats(random, 2 * width, 4);
    const up = randomFloats(random, 2 * width);
    const expected = gate.map((value, i) => Math.fround(silu(value) * up[i]!));
    const out = embeddedRows(new Float32Array(2 * width), width);
    gatedActivation(embeddedRows(gate, width), embeddedRows(up, width), out, 2);
    expect(copyRows(out, 2)).toEqual(expected);
    const inPlace = embeddedRows(gate, width);
    gatedActivation(inPlace, embeddedRows(up, width), inPlace, 2);
    expect(copyRows(inPlace, 2)).toEqual(expected);
  });
});
