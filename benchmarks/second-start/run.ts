// How long a fresh process takes to the first token of a prompt of 10 tokens: Hearth that packs, Hearth that maps the weights
// that an earlier start has packed, node-llama-cpp. Alternated, A B C A B C. All files are in the page cache for all of them.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { benchmarkModel } from '../models.ts';
import { installPeer, peerEntry } from '../vs-llama-cpp/install-peer.ts';
import { median, spread } from '../vs-llama-cpp/statistics.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'llama-1.1b,smollm2' },
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '2' },
  },
});

interface Start {
  /** Milliseconds from the start of the process to its first token. */
  readonly totalMs: number;
  /** Milliseconds since the process's own clock began, by name. */
  readonly marks: Readonly<Record<string, number>>;
  readonly fromCache?: boolean;
}

function start(script: string, args: readonly string[]): Start {
  const begin = performance.timeOrigin + performance.now();
  const path = fileURLToPath(new URL(script, import.meta.url));
  const output = execFileSync(process.execPath, [path, ...args], { encoding: 'utf8' });
  const { at, ...others } = JSON.parse(output) as Omit<Start, 'totalMs'> & { at: number };
  return { totalMs: at - begin, ...others };
}

/** What ends at each mark, in order. */
const phaseOfMark = {
  node: 'Node',
  import: 'imports',
  tokenizer: 'backend and header',
  weights: 'tokenizer and fingerprint',
  loaded: 'weights and memory',
  firstToken: 'first token',
};

const peer = installPeer();
console.log(
  `${cpus()[0]?.model.trim()}, ${cpus().length} cores, Node ${process.versions.node}; ${values.threads} threads; ${values.rounds} alternated rounds; ${peer}\n`,
);
console.log(`| Model | Start | Process to first token, ms | To the peer | ${Object.values(phaseOfMark).join(' + ')} |`);
console.log('|---|---|---|---|---|');
for (const name of values.models.split(',')) await compare(name);

async function compare(name: string): Promise<void> {
  const { path, shape, format } = await benchmarkModel(name);
  const cache = fileURLToPath(new URL('../../.cache/', import.meta.url));
  mkdirSync(cache, { recursive: true });
  const directory = mkdtempSync(`${cache}second-start-`);
  const { threads } = values;
  try {
    start('start-hearth.mjs', [path, threads, directory, 'wait']);
    const kinds: readonly [string, () => Start][] = [
      ['Hearth, packing', () => start('start-hearth.mjs', [path, threads])],
      ['Hearth, mapping', () => start('start-hearth.mjs', [path, threads, directory])],
      ['node-llama-cpp', () => start('start-peer.mjs', [path, threads, peerEntry])],
    ];
    const starts = kinds.map((): Start[] => []);
    // Round 0 warms the page cache and is not counted.
    for (let round = 0; round <= Number(values.rounds); round++) {
      for (const [i, [, run]] of kinds.entries()) {
        const result = run();
        if (result.fromCache === false && i === 1) throw new Error('The packed weights were not used.');
        if (round > 0) starts[i]!.push(result);
      }
    }
    const totals = starts.map((list) => list.map(({ totalMs }) => totalMs));
    const peerMs = median(totals.at(-1)!);
    for (const [i, [kind]] of kinds.entries()) {
      const cells = [`${median(totals[i]!).toFixed(0)} ±${(100 * spread(totals[i]!)).toFixed(0)}%`];
      cells.push((median(totals[i]!) / peerMs).toFixed(2), kind.startsWith('Hearth') ? phases(starts[i]!) : '');
      console.log(`| ${shape} ${format} | ${kind} | ${cells.join(' | ')} |`);
    }
  } finally {
    rmSync(directory, { recursive: true });
  }
}

/** Medians of what lies between the marks. */
function phases(starts: readonly Start[]): string {
  const marks = Object.keys(phaseOfMark);
  const lengths = marks.map((mark, i) => {
    const before = marks[i - 1];
    return median(starts.map(({ marks: at }) => at[mark]! - (before ? at[before]! : 0))).toFixed(0);
  });
  return lengths.join(' + ');
}
