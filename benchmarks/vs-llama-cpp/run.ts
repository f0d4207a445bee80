// Hearth beside node-llama-cpp: same file, same threads, same token ids, alternating in one run. See README.md.
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { atLeastOne, countFrom } from '../arguments.ts';
import { benchmarkModel } from '../models.ts';
import { commitName, machineName } from '../provenance.ts';
import type { Cell } from './aims.ts';
import { type Comparison, compare } from './compare.ts';
import { installPeer } from './install-peer.ts';
import { markdown } from './markdown.ts';
import { type PeerIsa, peerEntryFor, peerIsas } from './peer-isa.ts';
import { plot } from './plot.ts';
import type { Results } from './results.ts';
import { selectCells } from './select-cells.ts';

const { values } = parseArgs({
  options: {
    shapes: { type: 'string' },
    formats: { type: 'string' },
    cells: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    minutes: { type: 'string' },
    threads: { type: 'string', default: '2' },
    variant: { type: 'string' },
    'peer-isa': { type: 'string', default: 'native' },
    name: { type: 'string', default: 'latest' },
  },
});
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);
const minutes = values.minutes === undefined ? Infinity : atLeastOne('minutes', values.minutes);
const peerIsa = peerIsas.find((isa) => isa === values['peer-isa']);
if (!peerIsa) throw new Error(`--peer-isa is ${peerIsas.join(' or ')}, got ${values['peer-isa']}.`);
if (!/^[\w.-]+$/.test(values.name)) throw new Error(`--name is a file name without ending, got ${values.name}.`);

const models = cellsByModel(selectCells(values));
const peerName = installPeer();
const peerEntry = peerEntryFor(peerIsa);
// Files are written before the clock runs.
for (const name of models.keys()) await benchmarkModel(name);

const budgetEnds = performance.now() + minutes * 60_000;
const comparisons: Comparison[] = [];
let numLater = [...models.values()].flat().length;
for (const cells of models.values()) {
  numLater -= cells.length;
  comparisons.push(
    await compare(cells, numLater, { numThreads, rounds, budgetEnds, peerEntry, variant: values.variant }),
  );
}
write(resultsOf(comparisons));

function resultsOf(all: readonly Comparison[]): Results {
  const { hearth, peerBuild, peerCpuLibrary } = all[0]!;
  return {
    machine: machineName(),
    commit: commitName(),
    date: new Date().toISOString(),
    threads: numThreads,
    hearth,
    peer: `${peerName}, ${peerLibrary(peerIsa!, peerCpuLibrary)}`,
    peerBuild,
    cells: all.flatMap(({ cells }) => cells),
    leftOut: all.flatMap(({ leftOut }) => leftOut),
  };
}

function peerLibrary(isa: PeerIsa, loaded: string | undefined): string {
  const which = loaded ? `its library for ${loaded}` : 'which of its libraries is not known';
  return isa === 'native' ? which : `${which} (held to it by --peer-isa ${isa})`;
}

function write(results: Results): void {
  const directory = fileURLToPath(new URL('results/', import.meta.url));
  mkdirSync(directory, { recursive: true });
  const text = markdown(results);
  writeFileSync(`${directory}${values.name}.json`, `${JSON.stringify(results, null, 2)}\n`);
  writeFileSync(`${directory}${values.name}.md`, text);
  writeFileSync(`${directory}${values.name}.svg`, plot(results));
  console.log(text);
}

function cellsByModel(cells: readonly Cell[]): Map<string, Cell[]> {
  const models = new Map<string, Cell[]>();
  for (const cell of cells) {
    const name = `${cell.shape}-${cell.format}`;
    models.set(name, [...(models.get(name) ?? []), cell]);
  }
  return models;
}
