// What the engine adds to the steps of the backend: choosing and laying out steps, sampling, text and events. Many sequences
// of a small model answer at once, because there a step is short and all of this is most of it. What does not run while the
// backend works is the wall time without its steps; sampling runs within them, and is taken as what steps that sample take
// more than greedy ones, alternated.
import { parseArgs } from 'node:util';
import { loadModel, type Model } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { countFrom } from '../arguments.ts';
import { plusMinus, table } from '../markdown-table.ts';
import { benchmarkModel } from '../models.ts';
import { promptIds } from '../prompt-ids.ts';
import { commitName, machineName } from '../provenance.ts';
import { median, spread } from '../vs-llama-cpp/statistics.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'smollm2' },
    sequences: { type: 'string', default: '16' },
    tokens: { type: 'string', default: '64' },
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '2' },
  },
});
const numSequences = countFrom('sequences', values.sequences);
const numTokens = countFrom('tokens', values.tokens);
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);
const promptTokens = 64;
const contextLength = 512;

/** Of one step, in milliseconds. */
interface StepTimes {
  readonly wall: number;
  /** In the backend. */
  readonly run: number;
  readonly plan: number;
  readonly deliver: number;
}

async function answer(model: Model, temperature: number): Promise<StepTimes> {
  const sessions = Array.from({ length: numSequences }, (_, s) =>
    model.createSession({ tokenIds: promptIds(promptTokens, s) }),
  );
  await Promise.all(sessions.map((session) => session.prefill()));
  const before = model.stats().steps;
  const startedAt = performance.now();
  await Promise.all(
    sessions.map(async (session, s) => {
      const options = { temperature, topK: 40, seed: BigInt(s), maxTokens: numTokens, ignoreEos: true };
      // Events are read as a server would.
      for await (const _ of session.generate(options));
    }),
  );
  const wallMs = performance.now() - startedAt;
  const after = model.stats().steps;
  await Promise.all(sessions.map((session) => session.dispose()));
  const numSteps = after.numSteps - before.numSteps;
  return {
    wall: wallMs / numSteps,
    run: (after.runMs - before.runMs) / numSteps,
    plan: (after.planMs - before.planMs) / numSteps,
    deliver: (after.deliverMs - before.deliverMs) / numSteps,
  };
}

const { path } = await benchmarkModel(values.model);
const backend = await createCpuBackend({ numThreads });
const cacheTokens = numSequences * (promptTokens + numTokens + 32);
const model = await loadModel(path, { backend, contextLength, cacheTokens, prefixCache: false, ownsBackend: true });
const sampled: StepTimes[] = [];
const greedy: StepTimes[] = [];
for (let round = 0; round <= rounds; round++) {
  const [a, b] = [await answer(model, 0.8), await answer(model, 0)];
  // The first round warms, and does not count.
  if (round === 0) continue;
  sampled.push(a);
  greedy.push(b);
}
await model.dispose();

const share = (part: (times: StepTimes, round: number) => number) =>
  sampled.map((times, round) => part(times, round) / times.wall);
const outside = share(({ wall, run }) => wall - run);
const sampling = share(({ run }, round) => Math.max(0, run - greedy[round]!.run));
const total = outside.map((part, round) => part + sampling[round]!);
const percent = (shares: readonly number[]) => `${(100 * median(shares)).toFixed(2)}% ${plusMinus(spread(shares))}`;
const row = (what: string, shares: readonly number[]) => [what, percent(shares)];
console.log(
  `${machineName()}; ${numThreads} threads; commit ${commitName()}; ${numSequences} sequences of ${values.model}, ${numTokens} tokens each, top-k 40, ${rounds} rounds; a step takes ${median(sampled.map(({ wall }) => wall)).toFixed(2)} ms.\n`,
);
console.log(
  table(
    ['Share of a step', 'Median'],
    [
      row('Between two steps of the backend', outside),
      row('Sampling, within them', sampling),
      row('Together (5% at most)', total),
      row(
        'Of it and beside it: planning',
        share(({ plan }) => plan),
      ),
      row(
        'Of it and beside it: text and events',
        share(({ deliver }) => deliver),
      ),
    ],
  ),
);
