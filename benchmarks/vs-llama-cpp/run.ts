// Hearth beside node-llama-cpp: same file, same threads, same token ids, alternating in one run. See README.md.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type BenchmarkModel, benchmarkModel, benchmarkModelNames } from '../models.ts';
import { installPeer } from './install-peer.ts';
import type { Question } from './protocol.ts';
import { Runner } from './runner.ts';
import { median, spread } from './statistics.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: benchmarkModelNames.join(',') },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
  },
});
const rounds = Number(values.rounds);
const numThreads = Number(values.threads);

interface Cell {
  readonly shape: string;
  readonly format: string;
  readonly phase: 'prefill' | 'decode';
  /** Tokens of the prompt (prefill) or before the first timed token (decode). */
  readonly context: number;
  /** Tokens per second, medians. */
  readonly hearth: number;
  readonly peer: number;
  readonly ratio: number;
  /** Half the distance between the quartiles, as a share of the median: Hearth's, the peer's. */
  readonly spread: readonly [number, number];
}

const contextLength = 1024;
const numDecoded = 32;
const questions: readonly (Question & { readonly context: number })[] = [
  { kind: 'prefill', context: 64, tokenIds: tokens(64) },
  { kind: 'prefill', context: 500, tokenIds: tokens(500) },
  { kind: 'decode', context: 8, tokenIds: tokens(8), numTokens: numDecoded },
  { kind: 'decode', context: 500, tokenIds: tokens(500), numTokens: numDecoded },
];

const peerName = installPeer();
const cells: Cell[] = [];
let peerBuild = '';
for (const name of values.models.split(',')) {
  cells.push(...(await compare(await benchmarkModel(name))));
}
report();

async function compare(model: BenchmarkModel): Promise<Cell[]> {
  const settings = { modelPath: model.path, numThreads, contextLength };
  const hearth = await Runner.start('hearth', settings);
  // Its better attention setting counts, cell by cell.
  const peers = [
    await Runner.start('peer', settings),
    await Runner.start('peer', { ...settings, flashAttention: true }),
  ];
  peerBuild = peers[0]!.ready.description;
  const result: Cell[] = [];
  for (const question of questions) {
    const numTokens = question.kind === 'prefill' ? question.context : question.numTokens;
    const speeds: number[][] = [[], [], []];
    // Round 0 warms caches and is not counted.
    for (let round = 0; round <= rounds; round++) {
      for (const [index, runner] of [hearth, ...peers].entries()) {
        const milliseconds = await runner.ask(question);
        if (round > 0) speeds[index]!.push((1000 * numTokens) / milliseconds);
      }
    }
    const [ours, plain, flash] = speeds as [number[], number[], number[]];
    const better = median(plain) >= median(flash) ? plain : flash;
    const { shape, format } = model;
    const cell: Cell = {
      shape,
      format,
      phase: question.kind,
      context: question.context,
      hearth: median(ours),
      peer: median(better),
      ratio: median(ours) / median(better),
      spread: [spread(ours), spread(better)],
    };
    console.error(
      `${shape} ${format} ${cell.phase} ${cell.context}: ${cell.hearth.toFixed(1)} vs ${cell.peer.toFixed(1)}`,
    );
    result.push(cell);
  }
  for (const runner of [hearth, ...peers]) await runner.stop();
  return result;
}

function report(): void {
  const machine = `${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${process.versions.node}`;
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  const directory = fileURLToPath(new URL('results/', import.meta.url));
  mkdirSync(directory, { recursive: true });
  const record = { machine, commit, threads: numThreads, rounds, peer: peerName, peerBuild, cells };
  writeFileSync(`${directory}latest.json`, `${JSON.stringify(record, null, 2)}\n`);
  const percent = (share: number) => `±${(100 * share).toFixed(0)}%`;
  const rows = cells.map(({ shape, format, phase, context, hearth, peer, ratio, spread: [a, b] }) => {
    return `| ${shape} | ${format} | ${phase} | ${context} | ${hearth.toFixed(1)} ${percent(a)} | ${peer.toFixed(1)} ${percent(b)} | ${ratio.toFixed(2)} |`;
  });
  console.log(
    [
      `${machine}; ${numThreads} threads; ${rounds} alternated rounds; commit ${commit}; ${peerName} (${peerBuild})`,
      '',
      '| Shape | Format | Phase | Context | Hearth, tokens/s | Peer, tokens/s | Ratio |',
      '|---|---|---|---|---|---|---|',
      ...rows,
    ].join('\n'),
  );
}

/** The same ids for both: spread over the first 250 ids, which every benchmark model has. */
function tokens(count: number): number[] {
  return Array.from({ length: count }, (_, i) => 3 + ((i * 37) % 240));
}
