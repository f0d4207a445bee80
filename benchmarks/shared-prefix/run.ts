// What the prefix cache is worth: the time to the first token of a request whose prompt begins like an earlier one's, beside
// that of the earlier one. Every round has another prefix, and the two prompts go on differently.
import { parseArgs } from 'node:util';
import { type GenerateResult, loadModel, type Model } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { countFrom } from '../arguments.ts';
import { plusMinus, table } from '../markdown-table.ts';
import { benchmarkModel } from '../models.ts';
import { promptIds } from '../prompt-ids.ts';
import { commitName, machineName } from '../provenance.ts';
import { median, spread } from '../vs-llama-cpp/statistics.ts';

const { values } = parseArgs({
  options: {
    models: { type: 'string', default: 'smollm2-135m-q4_0,llama-1.1b-q4_0' },
    prefix: { type: 'string', default: '1000' },
    rest: { type: 'string', default: '16' },
    rounds: { type: 'string', default: '5' },
    threads: { type: 'string', default: '2' },
  },
});
const prefixTokens = countFrom('prefix', values.prefix);
const restTokens = countFrom('rest', values.rest);
const rounds = countFrom('rounds', values.rounds);
const numThreads = countFrom('threads', values.threads);

/** Times as fast that a prefix of 1,000 tokens shall make the first token. */
const aim = 8;

const rows: string[][] = [];
for (const name of values.models.split(',')) {
  const { path } = await benchmarkModel(name);
  const backend = await createCpuBackend({ numThreads });
  const model = await loadModel(path, { backend, contextLength: 2048, ownsBackend: true });
  const pairs: { readonly first: GenerateResult; readonly second: GenerateResult }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const prefix = promptIds(prefixTokens, round);
    const [first, second] = [
      await firstToken(model, prefix, 1000 + round),
      await firstToken(model, prefix, 2000 + round),
    ];
    // The first round warms, and does not count.
    if (round > 0) pairs.push({ first, second });
  }
  await model.dispose();
  const firstMs = pairs.map(({ first }) => first.timings.firstTokenMs!);
  const secondMs = pairs.map(({ second }) => second.timings.firstTokenMs!);
  const ratios = firstMs.map((milliseconds, round) => milliseconds / secondMs[round]!);
  const ms = (times: readonly number[]) => `${median(times).toFixed(1)} ${plusMinus(spread(times))}`;
  const ratio = median(ratios);
  rows.push([
    ...[name, `${median(pairs.map(({ second }) => second.usage.cachedTokens))}`, ms(firstMs), ms(secondMs)],
    ...[`${ratio.toFixed(1)} ${plusMinus(spread(ratios))}`, ratio >= aim ? 'reached' : '**below**'],
  ]);
}
console.log(
  `${machineName()}; ${numThreads} threads; commit ${commitName()}; prompts of ${prefixTokens} + ${restTokens} tokens, ${rounds} rounds.\n`,
);
const columns = ['Model', 'Tokens from the cache', 'First, ms', 'Second, ms', 'Times as fast', `Aim of ${aim}`];
console.log(table(columns, rows));

/** The first token of a session of its own, which is gone before the next request comes. */
async function firstToken(model: Model, prefix: readonly number[], seed: number): Promise<GenerateResult> {
  const session = model.createSession({ tokenIds: [...prefix, ...promptIds(restTokens, seed)] });
  const result = await session.generate({ maxTokens: 1, temperature: 0, ignoreEos: true }).result;
  await session.dispose();
  return result;
}
