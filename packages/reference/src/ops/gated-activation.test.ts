import { describe, expect, it } from 'vitest';
import { randomFloats, seededRandom } from '../__fixtures__/random.ts';
import { awkwardSizes, embeddedRows } from '../__fixtures__/rows.ts';
import { copyRows } from '../rows.ts';
import { geluTanh, silu } from './activation.ts';
import { gatedActivation } from './gated-activation.ts';

describe.each([
  ['silu', silu],
  ['gelu-tanh', geluTanh],
] as const)('gatedActivation of %s', (kind, activate) => {
  it.each(awkwardSizes)('is activation(gate) · up, over the gate too (width %i)', (width) => {
    const random = seededRandom(width);
    const gate = randomFloats(random, 2 * width, 4);
    const up = randomFloats(random, 2 * width);
    const expected = gate.map((value, i) => Math.fround(activate(value) * up[i]!));
    const out = embeddedRows(new Float32Array(2 * width), width);
    gatedActivation(kind, embeddedRows(gate, width), embeddedRows(up, width), out, 2);
    expect(copyRows(out, 2)).toEqual(expected);
    const inPlace = embeddedRows(gate, width);
    gatedActivation(kind, inPlace, embeddedRows(up, width), inPlace, 2);
    expect(copyRows(inPlace, 2)).toEqual(expected);
  });
});
