import { type OpProfile, sumWork } from '@hearth/engine';
import { describe, expect, it } from 'vitest';
import { profileRows, profileTable } from './profile-table.ts';

const op = (name: string, kind: OpProfile['kind'], microseconds: number, work: OpProfile['work']): OpProfile => ({
  name,
  kind,
  calls: 2,
  nanoseconds: 1000 * microseconds,
  work,
});
const bytes = sumWork([{ weightBytes: 40_000 }]);
const ops = sumWork([{ integerOps: 400_000, activationBytes: 1000 }]);

const profile = [
  op('model.embed_tokens', 'embed', 1, sumWork([])),
  op('model.layers.0.mlp.up', 'linear', 10, bytes),
  op('model.layers.0.mlp.up', 'gated-activation', 5, sumWork([{ activationBytes: 5000 }])),
  op('model.layers.1.mlp.up', 'linear', 30, ops),
  op('model.layers.10.mlp.up', 'linear', 4, sumWork([])),
];
const ceilings = { memoryBytes: 8e9, cacheBytes: 100e9, integerOps: 40e9, floatOps: 20e9 };

/** Cells of the row that begins with these words. */
function row(table: string, start: string): string[] {
  const line = table.split('\n').find((text) => text.startsWith(start));
  return line?.split(/ {2,}/) ?? [];
}

describe('by operator', () => {
  const table = profileTable(profile, { by: 'operators', ceilings });

  it('takes the layers of an operator together, and the kinds of a boundary apart', () => {
    expect(profileRows(profile, 'operators').map(({ name, kind, calls }) => [name, kind, calls])).toEqual([
      ['model.embed_tokens', 'embed', 2],
      ['model.layers.*.mlp.up', 'linear', 6],
      ['model.layers.*.mlp.up', 'gated-activation', 2],
    ]);
  });

  it('gives rates, and the share of the larger limit', () => {
    // 44 µs: 41 kB, 400 kOP; the least are 5.01 µs for bytes and 10 µs for operations.
    const cells = ['model.layers.*.mlp.up', 'linear', '6', '0.04', '7.3', '88.0%', '0.9', '9.1', '22.7% ops'];
    expect(row(table, 'model.layers.*.mlp.up  linear')).toEqual(cells);
    // 5 kB in 5 µs, from a cache of 100 GB/s.
    const activation = ['0.01', '2.5', '10.0%', '1.0', '1.0% bytes'];
    expect(row(table, 'model.layers.*.mlp.up  gated-activation').slice(3)).toEqual(activation);
  });

  it('starts with the longest and ends with all', () => {
    expect(table.split('\n').map((line) => line.split(' ')[0])).toEqual([
      'OPERATOR',
      'model.layers.*.mlp.up',
      'model.layers.*.mlp.up',
      'model.embed_tokens',
      'total',
    ]);
  });

  it('has no last column without ceilings', () => {
    expect(profileTable(profile, { by: 'operators', ceilings: null })).not.toMatch(/ROOFLINE|bytes|ops/);
  });
});

it('by layer: in the order of the program, with what is in no layer', () => {
  // The sum at the end of a layer has the layer's own name.
  const gpt2 = [op('transformer.h.7.ln_1', 'layer-norm', 1, bytes), op('transformer.h.7', 'add', 2, bytes)];
  const names = profileRows([...profile, ...gpt2], 'layers');
  expect(names.map(({ name, kind, nanoseconds }) => [name, kind, nanoseconds])).toEqual([
    ['model.embed_tokens', 'embed', 1000],
    ['model.layers.0', '', 15_000],
    ['model.layers.1', '', 30_000],
    ['model.layers.10', '', 4000],
    ['transformer.h.7', '', 3000],
  ]);
});
