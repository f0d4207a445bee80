// What guessing tokens ahead is worth: the same text with and without, in turns, on text that is copied and on text that is
// not. The tokens have to be equal.
import { parseArgs } from 'node:util';
import { type GenerateResult, loadModel, type Model } from '@hearth/engine';
import { resolveModel } from '@hearth/hub';
import { createCpuBackend } from '@hearth/kernels';
import { draftModel, promptLookup, type SpeculationOptions, sumSpeculationStats } from '@hearth/speculative';
import { countFrom } from '../arguments.ts';
import { plusMinus, table } from '../markdown-table.ts';
import { commitName, machineName } from '../provenance.ts';
import { median, spread } from '../vs-llama-cpp/statistics.ts';
import { type Text, texts } from './texts.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'smollm2:135m' },
    /** A smaller model that guesses, after the lookup has none. */
    draft: { type: 'string' },
    rounds: { type: 'string', default: '5' },
    tokens: { type: 'string', default: '192' },
    'max-guesses': { type: 'string' },
    threads: { type: 'string', default: '2' },
    /** Measure CPU time instead of wall time: for a machine that other work shares, with one thread, which never waits. */
    'cpu-time': { type: 'boolean', default: false },
  },
});
const rounds = countFrom('rounds', values.rounds);
const maxTokens = countFrom('tokens', values.tokens);
const numThreads = countFrom('threads', values.threads);

const model = await load(values.model);
const draft = values.draft === undefined ? undefined : await load(values.draft);
const speculation: SpeculationOptions = {
  proposers: [promptLookup(), ...(draft ? [draftModel(draft)] : [])],
  ...(values['max-guesses'] !== undefined && { maxTokens: countFrom('max-guesses', values['max-guesses']) }),
};

/** Without the prompt. */
interface Measured {
  readonly result: GenerateResult;
  readonly milliseconds: number;
}

const rows: string[][] = [];
for (const text of await texts()) rows.push(await compare(text));
await model.dispose();
await draft?.dispose();

const guessers = speculation.proposers.map(({ name }) => name).join(', ');
console.log(
  `${machineName()}; ${numThreads} threads${values['cpu-time'] ? ', CPU time' : ''}; commit ${commitName()}; ${values.model}, ${guessers}; ${rounds} rounds of ${maxTokens} tokens, all equal.\n`,
);
const columns = ['Text', 'Plain, tokens/s', 'Guessing, tokens/s', 'Ratio', 'Aim', 'Guesses', 'Of them right', 'Pauses'];
console.log(table(columns, rows));

async function load(name: string): Promise<Model> {
  const { path } = await resolveModel(name);
  return loadModel(path, { backend: await createCpuBackend({ numThreads }), contextLength: 2048, ownsBackend: true });
}

async function compare(text: Text): Promise<string[]> {
  const promptTokenIds = await model.tokenizer.encode(text.prompt);
  const pairs: { readonly plain: Measured; readonly guessing: Measured }[] = [];
  for (let round = 0; round <= rounds; round++) {
    const plainFirst = round % 2 === 0;
    const before = plainFirst ? await generate(text, promptTokenIds, round, false) : undefined;
    const guessing = await generate(text, promptTokenIds, round, speculation);
    const plain = before ?? (await generate(text, promptTokenIds, round, false));
    if (plain.result.tokenIds.join() !== guessing.result.tokenIds.join()) {
      throw new Error(`Other tokens with guesses: ${text.name}.`);
    }
    // The first round warms, and does not count.
    if (round > 0) pairs.push({ plain, guessing });
  }
  const plain = pairs.map((pair) => (1000 * maxTokens) / pair.plain.milliseconds);
  const guessing = pairs.map((pair) => (1000 * maxTokens) / pair.guessing.milliseconds);
  const ratios = guessing.map((speed, round) => speed / plain[round]!);
  const ratio = median(ratios);
  const stats = sumSpeculationStats(pairs.map((pair) => pair.guessing.result.speculation!));
  const perSecond = (values: readonly number[]) => `${median(values).toFixed(1)} ${plusMinus(spread(values))}`;
  return [
    ...[text.name, perSecond(plain), perSecond(guessing), `${ratio.toFixed(2)} ${plusMinus(spread(ratios))}`],
    `${text.aim} ${ratio >= text.aim ? 'reached' : '**missed**'}`,
    `${(stats.proposedTokens / rounds).toFixed(0)} in ${(stats.attempts / rounds).toFixed(0)} steps`,
    `${((100 * stats.acceptedTokens) / stats.proposedTokens).toFixed(0)}%`,
    (stats.pauses / rounds).toFixed(1),
  ];
}

async function generate(
  text: Text,
  promptTokenIds: ArrayLike<number>,
  round: number,
  speculation: SpeculationOptions | false,
): Promise<Measured> {
  const session = model.createSession({ tokenIds: promptTokenIds });
  await session.prefill();
  const start = now();
  const result = await session.generate({ ...text.sampling(round), maxTokens, ignoreEos: true, speculation }).result;
  const milliseconds = now() - start;
  await session.dispose();
  return { result, milliseconds };
}

function now(): number {
  if (!values['cpu-time']) return performance.now();
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
