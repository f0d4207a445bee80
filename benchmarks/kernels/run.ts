// Each kernel against the ceilings of the machine, measured in turn within one run. See README.md.
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { type WeightDtype, weightDtypes } from '@hearth/core';
import { attentionCases } from './attention-cases.ts';
import { type PreparedCase, type Sample, VariantBench } from './bench.ts';
import type { KernelCase } from './kernel-case.ts';
import { linearCases } from './linear-cases.ts';
import { groupTable, type Result } from './report.ts';
import { rowCases } from './row-cases.ts';

const { values } = parseArgs({
  options: {
    groups: { type: 'string', default: 'linear,attention,rows' },
    dtypes: { type: 'string', default: Object.keys(weightDtypes).join(',') },
    'cache-types': { type: 'string', default: 'f16' },
    rows: { type: 'string', default: '4096' },
    columns: { type: 'string', default: '2048' },
    /** Names, with commas between; the first is what the others are held against. */
    variant: { type: 'string' },
    threads: { type: 'string' },
    rounds: { type: 'string', default: '5' },
  },
});

const numThreads = values.threads === undefined ? undefined : Number(values.threads);
const benches: VariantBench[] = [];
for (const variant of values.variant?.split(',') ?? [undefined]) {
  benches.push(await VariantBench.open(variant, numThreads));
}
const totalBytes = benches[0]!.bytesPastCaches;
const size = { rows: Number(values.rows), columns: Number(values.columns), totalBytes };

const groups: Readonly<Record<KernelCase['group'], () => KernelCase[]>> = {
  linear: () => linearCases(values.dtypes.split(',') as WeightDtype[], size),
  attention: () => attentionCases(values['cache-types'].split(',') as KernelCase['cacheDtype'][], totalBytes),
  rows: rowCases,
};

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
console.log(
  `${cpus()[0]?.model.trim()}, ${cpus().length} cores; ${benches.map(({ description }) => description).join('; ')}; ${values.rounds} rounds; commit ${commit}`,
);
for (const group of values.groups.split(',') as KernelCase['group'][]) {
  const results: Result[] = [];
  for (const kernelCase of groups[group]()) {
    console.error(kernelCase.program.name);
    results.push(...(await measure(kernelCase)));
  }
  const title = group === 'linear' ? `linear, ${size.rows} x ${size.columns}` : group;
  const variants = benches.map(({ variant }) => variant);
  console.log(`\n### ${title}\n\n${groupTable(group, results, variants)}`);
}
for (const bench of benches) await bench.dispose();

/** A case in every variant, in turn, round by round; round 0 warms and is not counted. */
async function measure(kernelCase: KernelCase): Promise<Result[]> {
  const prepared: PreparedCase[] = [];
  for (const bench of benches) prepared.push(await bench.prepare(kernelCase));
  const results = prepared.map(({ work }, i) => ({
    kernelCase,
    variant: benches[i]!.variant,
    bytes: work.weightBytes + work.cacheBytes + work.activationBytes,
    operations: work.integerOps + work.floatOps,
    samples: [] as Sample[],
  }));
  for (let round = 0; round <= Number(values.rounds); round++) {
    for (const [i, each] of prepared.entries()) {
      const sample = await each.sample();
      if (round > 0) results[i]!.samples.push(sample);
    }
  }
  for (const each of prepared) await each.dispose();
  return results;
}
