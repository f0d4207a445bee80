// What it costs attention to read through a block table: decoding with the blocks of the sequence scattered over the whole
// cache, beside the same with blocks that follow each other. Same tokens, alternated.
import { parseArgs } from 'node:util';
import { loadModel, type Model, type Session } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { countFrom } from '../arguments.ts';
import { plusMinus, table } from '../markdown-table.ts';
import { benchmarkModel } from '../models.ts';
import { promptIds } from '../prompt-ids.ts';
import { commitName, machineName } from '../provenance.ts';
import { median, spread } from '../vs-llama-cpp/statistics.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'smollm2,llama-1.1b-q4_0' },
    context: { type: 'string', default: '2000' },
    tokens: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '7' },
    threads: { type: 'string', default: '2' },
  },
});
const context = countFrom('context', values.context);
const numTokens = countFrom('tokens', values.tokens);
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);
const prompt = promptIds(context, 1);

/** The free blocks of the cache are handed out in an order that has nothing to do with where they lie. */
async function scatterFreeBlocks(model: Model, blockSize: number): Promise<void> {
  const holders: Session[] = [];
  while (model.stats().cache.numFreeBlocks > 0) {
    const holder = model.createSession({ tokenIds: promptIds(blockSize, holders.length) });
    await holder.prefill();
    holders.push(holder);
  }
  // The last one given back is the first one handed out.
  const order = promptIds(holders.length, 7).map((key, i) => ({ key: key * 1000 + ((i * 7919) % 1000), i }));
  for (const { i } of order.sort((a, b) => a.key - b.key)) await holders[i]!.dispose();
}

async function decode(session: Session): Promise<{ msPerToken: number; tokens: string }> {
  session.truncate(context);
  const { timings, tokenIds } = await session.generate({ temperature: 0, ignoreEos: true, maxTokens: numTokens + 1 })
    .result;
  return { msPerToken: timings.decodeMs / numTokens, tokens: tokenIds.join() };
}

const rows: string[][] = [];
for (const name of values.models.split(',')) {
  const { path } = await benchmarkModel(name);
  const backend = await createCpuBackend({ numThreads });
  const contextLength = context + numTokens + 1;
  // Room for both sequences, and as much again for the scattered one to be scattered over.
  const options = { backend, contextLength, cacheTokens: 4 * contextLength, prefixCache: false, ownsBackend: true };
  const model = await loadModel(path, options);
  const inOrder = model.createSession({ tokenIds: prompt });
  await inOrder.prefill();
  await scatterFreeBlocks(model, model.stats().cache.blockSize);
  const scattered = model.createSession({ tokenIds: prompt });
  await scattered.prefill();

  const times = { inOrder: [] as number[], scattered: [] as number[], ratios: [] as number[] };
  for (let round = 0; round <= rounds; round++) {
    const [a, b] = [await decode(inOrder), await decode(scattered)];
    if (a.tokens !== b.tokens) throw new Error('The tokens differ.');
    // The first round warms, and does not count.
    if (round === 0) continue;
    times.inOrder.push(a.msPerToken);
    times.scattered.push(b.msPerToken);
    times.ratios.push(b.msPerToken / a.msPerToken);
  }
  await model.dispose();
  const shown = (numbers: readonly number[]) => `${median(numbers).toFixed(2)} ${plusMinus(spread(numbers))}`;
  rows.push([name, shown(times.inOrder), shown(times.scattered), shown(times.ratios)]);
}
console.log(
  `${machineName()}; ${numThreads} threads; commit ${commitName()}; ${context} tokens of context, ${numTokens} made, ${rounds} rounds; the tokens are equal.\n`,
);
console.log(table(['Model', 'Blocks in order, ms a token', 'Scattered, ms a token', 'Ratio'], rows));
