// Hearth beside an earlier commit of itself: same file, same threads, same token ids, asked in turn. See ../README.md.
import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { benchmarkModel } from '../models.ts';
import type { Cell } from '../vs-llama-cpp/aims.ts';
import { alternate } from '../vs-llama-cpp/alternate.ts';
import { questionOf } from '../vs-llama-cpp/compare.ts';
import { measured } from '../vs-llama-cpp/results.ts';
import { Runner } from '../vs-llama-cpp/runner.ts';
import { selectCells } from '../vs-llama-cpp/select-cells.ts';

const { values } = parseArgs({
  options: {
    /** Another checkout of this repository, set up and built. */
    checkout: { type: 'string' },
    shapes: { type: 'string', default: 'llama-1.1b' },
    formats: { type: 'string', default: 'q4_0' },
    cells: { type: 'string', default: 'prefill:500,prefill:1500,decode:0,decode:1500' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
    /** Of the newer one. */
    variant: { type: 'string' },
  },
});
if (!values.checkout) throw new Error('--checkout PATH names another checkout of this repository, set up and built.');
const checkout = resolve(values.checkout);
const earlierRunners = pathToFileURL(`${checkout}/benchmarks/vs-llama-cpp/`);
const [rounds, numThreads] = [Number(values.rounds), Number(values.threads)];

const commitOf = (cwd: string) =>
  execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd, encoding: 'utf8' }).trim();
console.log(
  `${cpus()[0]?.model.trim()}, ${cpus().length} cores; ${numThreads} threads; ${rounds} alternated rounds; ${commitOf('.')} beside ${commitOf(checkout)}\n`,
);
console.log('| Shape | Format | Cell | Now, tokens/s | Then, tokens/s | Ratio |\n|---|---|---|---|---|---|');

const byModel = new Map<string, Cell[]>();
for (const cell of selectCells(values)) {
  const name = `${cell.shape}-${cell.format}`;
  byModel.set(name, [...(byModel.get(name) ?? []), cell]);
}
for (const [name, cells] of byModel) {
  const { path: modelPath } = await benchmarkModel(name);
  const settings = { modelPath, numThreads, contextLength: 2048 };
  const now = await Runner.start('hearth', settings, values.variant ? { HEARTH_KERNELS_VARIANT: values.variant } : {});
  const then = await Runner.start('hearth', settings, {}, earlierRunners);
  for (const cell of cells) console.log(row(cell, await measure(cell, now, then)));
  await Promise.all([now.stop(), then.stop()]);
}

async function measure(cell: Cell, now: Runner, then: Runner) {
  const ask = async (runner: Runner, round: number) => (await runner.ask(questionOf(cell, round))).milliseconds;
  const taken = await alternate<Runner>([[now], [then]], ask, { rounds });
  return measured(cell, taken.get(now)!, taken.get(then)!, 'plain');
}

function row(cell: Cell, { hearth, peer, ratio, spread }: ReturnType<typeof measured>): string {
  const { shape, format, phase, context } = cell;
  const place = phase === 'prefill' ? `prefill ${context}` : `decode at ${context}`;
  return `| ${shape} | ${format} | ${place} | ${hearth.toFixed(1)} | ${peer.toFixed(1)} | ${ratio.toFixed(2)} ±${(100 * spread).toFixed(0)}% |`;
}
