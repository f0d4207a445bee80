// Many sequences at once, beside node-llama-cpp with as many. See README.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { atLeastOne, countFrom } from '../arguments.ts';
import { benchmarkModel } from '../models.ts';
import { commitName, machineName } from '../provenance.ts';
import { installPeer } from '../vs-llama-cpp/install-peer.ts';
import { type Comparison, compareServing, totalSequences } from './compare.ts';
import { servingMarkdown } from './markdown.ts';
import type { ServingCell } from './results.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'llama-1.1b-q4_0,smollm2-135m-q4_0' },
    sequences: { type: 'string', default: '1,2,4,8,16,32' },
    phases: { type: 'string', default: 'decode,output' },
    rounds: { type: 'string', default: '5' },
    minutes: { type: 'string' },
    threads: { type: 'string', default: '2' },
    'no-peer': { type: 'boolean', default: false },
    name: { type: 'string', default: 'latest' },
  },
});
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);
const minutes = values.minutes === undefined ? Infinity : atLeastOne('minutes', values.minutes);
if (!/^[\w.-]+$/.test(values.name)) throw new Error(`--name is a file name without ending, got ${values.name}.`);
const withPeer = !values['no-peer'];
const phases = (['decode', 'output'] as const).filter((phase) => values.phases.split(',').includes(phase));
if (phases.length === 0) throw new Error(`--phases is decode, output or both, got ${values.phases}.`);

const counts = values.sequences.split(',').map((count) => countFrom('sequences', count));
const models = values.models
  .split(',')
  .map((model): ServingCell[] => counts.flatMap((sequences) => phases.map((phase) => ({ model, sequences, phase }))));
const peerName = withPeer ? installPeer() : undefined;
// Files are written before the clock runs.
for (const cells of models) await benchmarkModel(cells[0]!.model);

const budgetEnds = performance.now() + minutes * 60_000;
const comparisons: Comparison[] = [];
for (const [index, cells] of models.entries()) {
  const later = totalSequences(models.slice(index + 1).flat());
  comparisons.push(await compareServing(cells, later, { numThreads, rounds, budgetEnds, withPeer }));
}
const { hearth, peer } = comparisons[0]!;
const results = {
  machine: machineName(),
  commit: commitName(),
  date: new Date().toISOString(),
  threads: numThreads,
  hearth,
  ...(peer && { peer: `${peerName}, its library for ${peer}` }),
  cells: comparisons.flatMap(({ cells }) => cells),
  leftOut: comparisons.flatMap(({ leftOut }) => leftOut),
};
const directory = fileURLToPath(new URL('results/', import.meta.url));
mkdirSync(directory, { recursive: true });
const text = servingMarkdown(results);
writeFileSync(`${directory}${values.name}.json`, `${JSON.stringify(results, null, 2)}\n`);
writeFileSync(`${directory}${values.name}.md`, text);
console.log(text);
