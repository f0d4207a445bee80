// What the server costs its main thread per streamed token: the time that the thread is on a processor while streams are read
// over loopback by another process, less what the same texts take in a process that has the engine and no server. Rounds
// alternate. Sampling is in the steps of the backend, off the thread, in both.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { countFrom } from '../arguments.ts';
import { mainThreadNanoseconds, startHearthServer } from '../hearth-server.ts';
import { plusMinus, table } from '../markdown-table.ts';
import { benchmarkModel } from '../models.ts';
import { commitName, machineName } from '../provenance.ts';
import { eventsOf } from '../server-sent-events.ts';
import { median, spread } from '../vs-llama-cpp/statistics.ts';
import type { BareSettings } from './runner-bare.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'smollm2' },
    streams: { type: 'string', default: '16' },
    tokens: { type: 'string', default: '128' },
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '1' },
    profile: { type: 'boolean', default: false },
  },
});
const numStreams = countFrom('streams', values.streams);
const numTokens = countFrom('tokens', values.tokens);
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);
const contextLength = 1024;
const cacheTokens = numStreams * (numTokens + 128);

const prompt = (stream: number) => `Tell me story number ${stream + 1} about a lighthouse.`;

const { path } = await benchmarkModel(values.model);
const flags = {
  '-m': `bench=${path}`,
  '--context': contextLength,
  '--cache-tokens': cacheTokens,
  '--threads': numThreads,
};
const server = await startHearthServer(
  Object.entries(flags).flatMap(([flag, value]) => [flag, `${value}`]),
  values.profile ? ['--cpu-prof'] : [],
);
const settings: BareSettings = {
  path,
  contextLength,
  cacheTokens,
  numThreads,
  numTokens,
  prompts: Array.from({ length: numStreams }, (_, stream) => prompt(stream)),
};
const bare = await startBare(settings);

async function stream(index: number): Promise<number> {
  const body = {
    messages: [{ role: 'user', content: prompt(index) }],
    stream: true,
    max_tokens: numTokens,
    ignore_eos: true,
    temperature: 0.8,
    top_k: 40,
    seed: index,
  };
  const response = await fetch(`${server.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`The server answered ${response.status}: ${await response.text()}`);
  let numEvents = 0;
  for await (const events of eventsOf(response)) numEvents += events.length;
  return numEvents;
}

/** Microseconds of the main thread per token. */
async function measure(pid: number, run: () => Promise<unknown>): Promise<number> {
  const before = mainThreadNanoseconds(pid);
  await run();
  return (mainThreadNanoseconds(pid) - before) / 1000 / (numStreams * numTokens);
}

const withServer: number[] = [];
const without: number[] = [];
let numEvents = 0;
for (let round = 0; round <= rounds; round++) {
  const served = await measure(server.pid, async () => {
    const counts = await Promise.all(settings.prompts.map((_, index) => stream(index)));
    numEvents = counts.reduce((sum, count) => sum + count, 0);
  });
  const alone = await measure(bare.pid!, async () => {
    bare.send('run');
    await once(bare, 'message');
  });
  // The first round warms, and does not count.
  if (round === 0) continue;
  withServer.push(served);
  without.push(alone);
}
bare.disconnect();
await server.stop();

const cost = withServer.map((microseconds, round) => microseconds - without[round]!);
const row = (what: string, all: readonly number[]) => [what, `${median(all).toFixed(1)} µs ${plusMinus(spread(all))}`];
console.log(
  `${machineName()}; ${numThreads} threads; commit ${commitName()}; ${numStreams} streams of ${values.model}, ${numTokens} tokens each, ${rounds} rounds; ${numEvents} events a round.\n`,
);
console.log(
  table(
    ['Main thread, per token', 'Median'],
    [row('Server and engine', withServer), row('Engine alone', without), row('Server (60 µs at most)', cost)],
  ),
);

async function startBare(settings: BareSettings): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('runner-bare.ts', import.meta.url));
  const child = fork(script, [JSON.stringify(settings)], { execArgv: ['--import', 'tsx'] });
  const [message] = await once(child, 'message');
  if (message !== 'ready') throw new Error('The process without a server did not start.');
  return child;
}
