import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, embeddedRows } from '../__fixtures__/rows.ts';
import type { QuantizedMatrix } from '../matrix.ts';
import { copyRows } from '../rows.ts';
import { add } from './add.ts';
import { embed } from './embed.ts';
import { gatherRows } from './gather-rows.ts';
import { scale } from './scale.ts';

describe.each(awkwardSizes)('at width %i', (width) => {
  const x = randomFloats(seededRandom(width), 5 * width);

  it('add gives the rounded sum in place', () => {
    const residual = embeddedRows(x, width);
    const delta = x.map((value) => value * 1e-3);
    add(residual, embeddedRows(delta, width), 5);
    expect(copyRows(residual, 5)).toEqual(x.map((value, i) => Math.fround(value + delta[i]!)));
  });

  it('scale gives the rounded product in place, the factor rounded first', () => {
    const rows = embeddedRows(x, width);
    scale(rows, Math.sqrt(640), 5);
    expect(copyRows(rows, 5)).toEqual(x.map((value) => Math.fround(value * Math.fround(Math.sqrt(640)))));
  });

  it('gatherRows copies the wanted rows', () => {
    const out = embeddedRows(new Float32Array(3 * width), width);
    gatherRows(embeddedRows(x, width), Int32Array.of(0, 2, 4), out);
    const rows = [0, 2, 4].map((row) => [...x.subarray(row * width, (row + 1) * width)]);
    expect([...copyRows(out, 3)]).toEqual(rows.flat());
  });

  it('embed copies rows of a plain table', () => {
    const out = embeddedRows(new Float32Array(3 * width), width);
    embed({ kind: 'dense', rows: 5, columns: width, values: x }, Int32Array.of(4, 0, 4), out);
    const rows = [4, 0, 4].map((row) => [...x.subarray(row * width, (row + 1) * width)]);
    expect([...copyRows(out, 3)]).toEqual(rows.flat());
  });
});

describe('embed of a quantized table', () => {
  const codes = Int8Array.from({ length: 3 * 64 }, (_, i) => (i % 16) - 8);
  const scales = Float32Array.of(0.1, 0.2, 0.3, -0.4, 0.5, 0.6);
  const table: QuantizedMatrix = {
    kind: 'quantized',
    rows: 3,
    columns: 64,
    codes,
    scales,
    subScales: null,
    mins: null,
    minElements: 32,
    columnOrder: null,
  };

  it('is scale · code, with +0 for code 0 of a negative scale', () => {
    const out = embeddedRows(new Float32Array(2 * 64), 64);
    embed(table, Int32Array.of(2, 1), out);
    const got = copyRows(out, 2);
    for (let i = 0; i < 64; i++) {
      expect(got[i]).toBe(Math.fround(scales[4 + (i >> 5)]! * codes[128 + i]!));
      expect(got[64 + i]).toBe(Math.fround(scales[2 + (i >> 5)]! * codes[64 + i]! + 0));
    }
    expect(Object.is(got[64 + 32 + 8], 0)).toBe(true); // row 1, second block (scale −0.4), code 0
  });

  it('multiplies by the scale of each 16, and adds the minimum of each 16', () => {
    const subScales = Int8Array.from({ length: 12 }, (_, i) => 5 * i - 30);
    const mins = Float32Array.from({ length: 12 }, (_, i) => i / 3);
    const out = embeddedRows(new Float32Array(64), 64);
    embed({ ...table, subScales, mins, minElements: 16 }, Int32Array.of(1), out);
    const got = copyRows(out, 1);
    for (let i = 0; i < 64; i++) {
      const [block, half] = [2 + (i >> 5), 4 + (i >> 4)];
      const product = Math.fround(scales[block]! * subScales[half]! * codes[64 + i]!);
      expect(got[i]).toBe(Math.fround(product + mins[half]!));
    }
  });

  it('rounds the product, then the sum with the minimum', () => {
    const mins = Float32Array.of(-1, -2, -3, 1 / 3, 5, 6);
    const out = embeddedRows(new Float32Array(64), 64);
    embed({ ...table, mins }, Int32Array.of(1), out);
    const got = copyRows(out, 1);
    for (let i = 0; i < 64; i++) {
      const block = 2 + (i >> 5);
      expect(got[i]).toBe(Math.fround(Math.fround(scales[block]! * codes[64 + i]!) + mins[block]!));
    }
  });
});
