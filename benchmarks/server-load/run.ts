// Many clients at once, who ask at random out of a fixed set of requests, and of whom many go away: in the queue, in prefill,
// in the middle of a stream. Every answer that is read to its end must equal the one that the request got when it was alone,
// and nothing may be left of the others. Ends by itself; the exit code is 1 when something is wrong.
import { parseArgs } from 'node:util';
import { countFrom } from '../arguments.ts';
import { startHearthServer } from '../hearth-server.ts';
import { table } from '../markdown-table.ts';
import { benchmarkModel } from '../models.ts';
import { commitName, machineName } from '../provenance.ts';
import { type Answer, createCases, createRandom } from './cases.ts';
import { ask, askStream, type Leaving } from './client.ts';
import { growth, ServerWatch } from './server-watch.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'smollm2' },
    streams: { type: 'string', default: '16' },
    seconds: { type: 'string', default: '120' },
    cases: { type: 'string', default: '48' },
    threads: { type: 'string', default: '2' },
    seed: { type: 'string', default: '1' },
  },
});
const numStreams = countFrom('streams', values.streams);
const seconds = countFrom('seconds', values.seconds);
const numThreads = countFrom('threads', values.threads);
/** As a share of what was there before. Heap and resident memory breathe by some percent. */
const mostGrowth = 0.1;

const random = createRandom(countFrom('seed', values.seed));
const cases = createCases(countFrom('cases', values.cases), random);
const { path } = await benchmarkModel(values.model);
const flags = {
  '-m': `bench=${path}`,
  '--context': 1024,
  // Too small for all at once, so that requests wait, evict and are preempted.
  '--cache-tokens': numStreams * 256,
  '--max-sequences': Math.ceil(0.75 * numStreams),
  '--threads': numThreads,
};
const server = await startHearthServer(Object.entries(flags).flatMap(([flag, value]) => [flag, `${value}`]));
const { url } = server;

const expected: Answer[] = [];
for (const request of cases) expected.push(await ask(url, request));

const watch = new ServerWatch(server);
const endsAt = performance.now() + 1000 * seconds;
const counts = { right: 0, wrong: 0, left: 0, failed: 0 };
const firstTokens: number[] = [];
const gaps: number[] = [];
await Promise.all(Array.from({ length: numStreams }, client));
const { resident, heap } = watch.stop();
const leaks = await watch.leaks();
const exitCode = await server.stop();

async function client(): Promise<void> {
  while (performance.now() < endsAt) {
    const index = Math.floor(random() * cases.length);
    try {
      const answer = await answerTo(index);
      if (!answer) counts.left++;
      else if (JSON.stringify(answer) === JSON.stringify(expected[index])) counts.right++;
      else {
        counts.wrong++;
        console.error('wrong', JSON.stringify({ request: cases[index], expected: expected[index], answer }));
      }
    } catch (error) {
      counts.failed++;
      console.error('failed', error);
    }
  }
}

async function answerTo(index: number): Promise<Answer | undefined> {
  if (random() < 0.15) return ask(url, cases[index]!);
  const { answer, times } = await askStream(url, cases[index]!, leaving());
  if (times.firstTokenMs !== undefined) firstTokens.push(times.firstTokenMs);
  for (const gap of times.gapsMs) gaps.push(gap);
  return answer;
}

/** A third goes away: at once, soon (in the queue or in prefill), or in the middle of the stream. */
function leaving(): Leaving {
  const chance = random();
  if (chance < 0.08) return { afterMs: 5 * random() };
  if (chance < 0.18) return { afterMs: 300 * random() };
  if (chance < 0.33) return { afterEvents: 1 + Math.floor(20 * random()) };
  return undefined;
}

function quantile(samples: readonly number[], share: number): string {
  const sorted = [...samples].sort((a, b) => a - b);
  return `${sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]?.toFixed(1)} ms`;
}

const percent = (share: number) => `${(100 * share).toFixed(1)}%`;
const megabytes = (samples: readonly number[]) => `${(Math.max(...samples) / 1e6).toFixed(0)} MB`;
console.log(
  `${machineName()}; ${numThreads} threads; commit ${commitName()}; ${values.model}, ${numStreams} clients for ${seconds} s, ${cases.length} different requests, seed ${values.seed}.\n`,
);
console.log(
  table(
    ['', ''],
    [
      ['Answers read to their end, equal to those of the request alone', `${counts.right}`],
      ['Wrong answers', `${counts.wrong}`],
      ['Failed requests', `${counts.failed}`],
      ['Clients that went away', `${counts.left}`],
      ['Left over at the end', leaks.length === 0 ? 'nothing' : leaks.join('; ')],
      ['First token, p50 / p95', `${quantile(firstTokens, 0.5)} / ${quantile(firstTokens, 0.95)}`],
      ['Between tokens, p50 / p95', `${quantile(gaps, 0.5)} / ${quantile(gaps, 0.95)}`],
      ['Resident memory, most / growth', `${megabytes(resident)} / ${percent(growth(resident))}`],
      ['JavaScript heap, most / growth', `${megabytes(heap)} / ${percent(growth(heap))}`],
      ['Exit code after SIGTERM', `${exitCode}`],
    ],
  ),
);
const isFlat = growth(resident) <= mostGrowth && growth(heap) <= mostGrowth;
if (counts.wrong + counts.failed + leaks.length > 0 || !isFlat || exitCode !== 0) process.exitCode = 1;
