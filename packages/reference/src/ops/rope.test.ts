import { ropeSpec } from '@hearth/models';
import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { embeddedRows, tightRows, unitRoundoff } from '../__fixtures__/rows.ts';
import { copyRows } from '../rows.ts';
import { rope, ropeTable } from './rope.ts';

/** The frequencies of a model without scaling. */
const unscaled = (theta: number, rotaryDim: number) =>
  ropeSpec({ theta, rotaryDim, maxPositionEmbeddings: 8192, scaling: { type: 'default' } });

const positions = Int32Array.of(0, 1, 7, 63, 64, 511, 8191);

describe('ropeTable', () => {
  it.each([2, 4, 16, 64, 128])('holds cos and sin of the rounded angle (%i dimensions)', (rotaryDim) => {
    const spec = unscaled(10000, rotaryDim);
    const table = embeddedRows(new Float32Array(positions.length * rotaryDim), rotaryDim);
    ropeTable(spec, positions, table);
    const got = copyRows(table, positions.length);
    for (const [t, position] of positions.entries()) {
      for (let i = 0; i < rotaryDim / 2; i++) {
        const angle = Math.fround(position * spec.invFreq[i]!);
        // One rounding of a value of at most 1.
        expect(Math.abs(got[t * rotaryDim + i]! - Math.cos(angle))).toBeLessThanOrEqual(unitRoundoff);
        expect(Math.abs(got[t * rotaryDim + rotaryDim / 2 + i]! - Math.sin(angle))).toBeLessThanOrEqual(unitRoundoff);
      }
    }
  });

  it('multiplies both by attentionScaling', () => {
    const plain = tightRows(new Float32Array(4), 4);
    const scaled = tightRows(new Float32Array(4), 4);
    const spec = unscaled(100, 4);
    ropeTable(spec, Int32Array.of(3), plain);
    ropeTable({ ...spec, attentionScaling: 1.1 }, Int32Array.of(3), scaled);
    expect(scaled.data).toEqual(plain.data.map((value) => Math.fround(value * Math.fround(1.1))));
  });
});

describe('rope', () => {
  it.each([
    [8, 8, 3],
    [16, 16, 1],
    [64, 64, 2],
    [16, 8, 2],
    [6, 2, 5],
  ])('rotates pairs i, i + half of each head (headDim %i, rotaryDim %i, %i heads)', (headDim, rotaryDim, heads) => {
    const spec = unscaled(10000, rotaryDim);
    const width = headDim * heads;
    const x = randomFloats(seededRandom(width), positions.length * width);
    const rotated = embeddedRows(x, width);
    const table = embeddedRows(new Float32Array(positions.length * rotaryDim), rotaryDim);
    ropeTable(spec, positions, table);
    rope(rotated, table, headDim, rotaryDim, positions.length);
    const got = copyRows(rotated, positions.length);
    const half = rotaryDim / 2;
    for (const [t, position] of positions.entries()) {
      for (let head = 0; head < heads; head++) {
        for (let i = 0; i < headDim; i++) {
          const at = t * width + head * headDim + i;
          if (i >= rotaryDim) {
            expect(got[at]).toBe(x[at]);
            continue;
          }
          const pair = i % half;
          const angle = Math.fround(position * spec.invFreq[pair]!);
          // A complex number times e^(i · angle).
          const [re, im] = [x[at - i + pair]!, x[at - i + pair + half]!];
          const exact =
            i < half ? re * Math.cos(angle) - im * Math.sin(angle) : im * Math.cos(angle) + re * Math.sin(angle);
          // Rounded cos or sin, product and sum: three roundings of each term.
          const bound = 3.01 * unitRoundoff * (Math.abs(re) + Math.abs(im));
          expect(Math.abs(got[at]! - exact)).toBeLessThanOrEqual(bound);
        }
      }
    }
  });

  it('leaves position 0 as it is', () => {
    const x = randomFloats(seededRandom(2), 16);
    const rotated = tightRows(x.slice(), 16);
    const table = tightRows(new Float32Array(8), 8);
    ropeTable(unscaled(10000, 8), Int32Array.of(0), table);
    rope(rotated, table, 8, 8, 1);
    expect(rotated.data).toEqual(x);
  });
});
