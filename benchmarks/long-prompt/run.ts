// What running streams feel of a long prompt: the gaps between their tokens while it is read. No gap shall be larger than
// two normal ones and the time of a chunk.
import { parseArgs } from 'node:util';
import { type Generation, loadModel, type Model } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { countFrom } from '../arguments.ts';
import { table } from '../markdown-table.ts';
import { benchmarkModel } from '../models.ts';
import { promptIds } from '../prompt-ids.ts';
import { commitName, machineName } from '../provenance.ts';
import { median } from '../vs-llama-cpp/statistics.ts';
import { type Gaps, gapsAround } from './gaps.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'smollm2-135m-q4_0,qwen2.5-0.5b-q4_0' },
    streams: { type: 'string', default: '4' },
    prompt: { type: 'string', default: '4000' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '2' },
  },
});
const numStreams = countFrom('streams', values.streams);
const promptTokens = countFrom('prompt', values.prompt);
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);

/** Milliseconds that a chunk of a prompt is predicted to take at most: the default of the scheduler. */
const chunkMs = 250;
/** Tokens of each stream before the prompt comes, to know its normal gap. */
const tokensBefore = 48;
const streamPromptTokens = 32;

const rows: string[][] = [];
for (const name of values.models.split(',')) {
  const { path } = await benchmarkModel(name);
  const backend = await createCpuBackend({ numThreads });
  // Streams go on for as long as the prompt is read.
  const contextLength = promptTokens + 1024;
  const cacheTokens = (numStreams + 1) * contextLength;
  const model = await loadModel(path, { backend, contextLength, cacheTokens, ownsBackend: true });
  const measured: Gaps[] = [];
  for (let round = 0; round < rounds; round++) measured.push(await readBesideStreams(model, round));
  await model.dispose();
  const middle = (of: (gaps: Gaps) => number) => median(measured.map(of));
  const allowed = middle(({ normal }) => 2 * normal + chunkMs);
  const isWithin = measured.every(({ normal, largest }) => largest <= 2 * normal + chunkMs);
  rows.push([
    name,
    ...[middle((gaps) => gaps.normal), middle((gaps) => gaps.during), middle((gaps) => gaps.largest), allowed].map(
      (ms) => ms.toFixed(0),
    ),
    `${middle((gaps) => gaps.numDuring / numStreams).toFixed(0)}`,
    (middle((gaps) => gaps.duringMs) / 1000).toFixed(2),
    isWithin ? 'within' : '**above**',
  ]);
}
console.log(
  `${machineName()}; ${numThreads} threads; commit ${commitName()}; ${numStreams} streams, a prompt of ${promptTokens} tokens, ${rounds} rounds.\n`,
);
const columns = [
  ...['Model', 'Normal gap, ms', 'Gap while it is read, ms', 'Largest, ms', 'Allowed, ms'],
  ...['Tokens a stream made meanwhile', 'Read in, s', 'In every round'],
];
console.log(table(columns, rows));

/** Streams decode, then a prompt is read beside them, then all end. */
async function readBesideStreams(model: Model, round: number): Promise<Gaps> {
  const sessions = Array.from({ length: numStreams }, (_, i) =>
    model.createSession({ tokenIds: promptIds(streamPromptTokens, 100 * round + i) }),
  );
  const streams = sessions.map((session) => session.generate({ temperature: 0, ignoreEos: true }));
  const times = streams.map((): number[] => []);
  let numReady = 0;
  let markReady = () => {};
  const areReady = new Promise<void>((resolve) => {
    markReady = resolve;
  });
  const listening = streams.map(async (stream: Generation, i) => {
    for await (const _ of stream) {
      if (times[i]!.push(performance.now()) === tokensBefore && ++numReady === numStreams) markReady();
    }
  });
  await Promise.race([areReady, Promise.all(listening)]);

  const prompt = model.createSession({ tokenIds: promptIds(promptTokens, 1000 + round) });
  const begin = performance.now();
  await prompt.generate({ maxTokens: 1, temperature: 0, ignoreEos: true }).result;
  const end = performance.now();
  await Promise.all(streams.map((stream) => stream.cancel()));
  await Promise.all(listening);
  await Promise.all([...sessions, prompt].map((session) => session.dispose()));
  return gapsAround(times, begin, end);
}
