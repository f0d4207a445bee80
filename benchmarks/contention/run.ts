// What is left of the speed of decoding when another process computes without end on the same cores. See README.md.
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { benchmarkModel } from '../models.ts';
import { installPeer } from '../vs-llama-cpp/install-peer.ts';
import type { Question } from '../vs-llama-cpp/protocol.ts';
import { Runner } from '../vs-llama-cpp/runner.ts';
import { median, spread } from '../vs-llama-cpp/statistics.ts';
import { BusyLoop } from './busy-loop.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'smollm2-135m-q4_0,llama-1.1b-q4_0' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
    tokens: { type: 'string', default: '32' },
    'only-hearth': { type: 'boolean', default: false },
  },
});
const [rounds, numThreads, numTokens] = [values.rounds, values.threads, values.tokens].map(Number) as [
  number,
  number,
  number,
];
const question: Question = { kind: 'decode', tokenIds: [5, 40, 77], numTokens };
const engines = values['only-hearth'] ? (['hearth'] as const) : (['hearth', 'peer'] as const);

/** Milliseconds of the rounds of one engine. */
interface Times {
  readonly alone: number[];
  readonly beside: number[];
}

const peerName = values['only-hearth'] ? '' : `; peer: ${installPeer()}`;
console.log(`${cpus().length} cores, ${numThreads} threads, ${rounds} rounds of ${numTokens} tokens${peerName}`);
console.log('\n| Model | Engine | Alone, tokens/s | Beside a busy loop | Kept |');
console.log('|---|---|---|---|---|');
for (const name of values.models.split(',')) {
  const { path: modelPath } = await benchmarkModel(name);
  const runners: Runner[] = [];
  for (const engine of engines) runners.push(await Runner.start(engine, { modelPath, numThreads, contextLength: 512 }));
  const times = await measure(runners).finally(() => Promise.all(runners.map((runner) => runner.stop())));
  for (const [index, engine] of engines.entries()) console.log(row(name, engine, times[index]!));
}

/** Engines take turns, and so do the machine alone and the machine with company. */
async function measure(runners: readonly Runner[]): Promise<Times[]> {
  const times = runners.map((): Times => ({ alone: [], beside: [] }));
  for (const runner of runners) await runner.ask(question);
  for (let round = 0; round < rounds; round++) {
    for (const [index, runner] of runners.entries())
      times[index]!.alone.push((await runner.ask(question)).milliseconds);
    const busyLoop = await BusyLoop.start();
    try {
      for (const [index, runner] of runners.entries())
        times[index]!.beside.push((await runner.ask(question)).milliseconds);
    } finally {
      await busyLoop.stop();
    }
  }
  return times;
}

function row(name: string, engine: string, { alone, beside }: Times): string {
  const speed = (times: readonly number[]) => ((1000 * numTokens) / median(times)).toFixed(1);
  const kept = alone.map((milliseconds, round) => milliseconds / beside[round]!);
  const share = `${(100 * median(kept)).toFixed(0)}% ±${(100 * spread(kept)).toFixed(0)}%`;
  return `| ${name} | ${engine} | ${speed(alone)} | ${speed(beside)} | ${share} |`;
}
