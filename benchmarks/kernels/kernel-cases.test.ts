import { checkProgram, type WeightDtype, weightDtypes } from '@hearth/core';
import { expect, it } from 'vitest';
import { attentionCases } from './attention-cases.ts';
import { VariantBench } from './bench.ts';
import { linearCases } from './linear-cases.ts';
import { groupTable, type Result } from './report.ts';
import { rowCases } from './row-cases.ts';

const dtypes = Object.keys(weightDtypes) as WeightDtype[];
const small = { rows: 24, columns: 256, totalBytes: 1 };
const cases = [...linearCases(dtypes, small), ...attentionCases(['f16'], 1), ...rowCases()];

it('all cases are programs that make sense, each under a name of its own', () => {
  for (const { program } of cases) checkProgram(program);
  const names = cases.map(({ program }) => program.name);
  expect(new Set(names).size).toBe(names.length);
});

it('fills memory with as many matrices as it takes', () => {
  // 4,096 rows of 2,048 in q4_0 are 4.5 MiB.
  const [decode] = linearCases(['q4_0'], { rows: 4096, columns: 2048, totalBytes: 128 * 2 ** 20 });
  expect(decode!.program.ops.filter(({ name }) => name === 'measured')).toHaveLength(29);
});

it('measures a kernel of each group', async () => {
  const bench = await VariantBench.open('portable', 1);
  const chosen = [
    'linear int4_g32 1',
    'linear f8_e4m3 2',
    'attention SmolLM2 135M, f16 1 at 511',
    'rows rope 1 x 2048',
  ];
  for (const name of chosen) {
    const prepared = await bench.prepare(cases.find(({ program }) => program.name === name)!);
    const { seconds, share } = await prepared.sample();
    expect(seconds, name).toBeGreaterThan(0);
    expect(share, name).toBeGreaterThan(0);
    expect(Number.isFinite(share), name).toBe(true);
    await prepared.dispose();
  }
  await bench.dispose();
});

it('counts the work of one op', async () => {
  const bench = await VariantBench.open('portable', 1);
  const prepared = await bench.prepare(linearCases(['q8_0'], small)[1]!);
  expect(prepared.work).toEqual({
    weightBytes: 24 * (256 / 32) * 34,
    cacheBytes: 0,
    activationBytes: 0,
    integerOps: 2 * 2 * 24 * 256,
    floatOps: 0,
  });
  await prepared.dispose();
  await bench.dispose();
});

it('prints medians, and each variant against the first, round by round', () => {
  const [kernelCase] = linearCases(['q4_0'], small);
  const result = (variant: string, seconds: readonly number[]): Result => ({
    ...{ kernelCase: kernelCase!, variant, bytes: 2000, operations: 8000 },
    samples: seconds.map((each) => ({ seconds: each, share: 1e-6 / each, limit: 'bytes' })),
  });
  const results = [result('avx2', [4e-6, 2e-6, 8e-6]), result('other', [2e-6, 2e-6, 2e-6])];
  expect(groupTable('linear', results, ['avx2', 'other']).split('\n')).toEqual([
    '| Kernel | Tokens | Variant | µs | GB/s | GOP/s | Of the limit | Limit | Speed over avx2 |',
    '|---|---|---|---|---|---|---|---|---|',
    '| q4_0 | 1 | avx2 | 4.0 | 0.5 | 2 | 25% ±75% | bytes | 1.00 |',
    '| q4_0 | 1 | other | 2.0 | 1.0 | 4 | 50% ±0% | bytes | 2.00 |',
  ]);
  expect(groupTable('linear', results.slice(0, 1), ['avx2'])).not.toMatch(/Variant|Speed/);
});
