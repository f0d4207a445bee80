import { type Backend, type Executable, throwIfAborted, type Weights } from '@hearth/core';
import type { Model } from '@hearth/models';
import type { GoldenManifest, GoldenPrompt, GoldenRunName } from './manifest.ts';
import { singleBatch } from './single-batch.ts';

/** A prompt continued greedily, against the golden tokens. */
export interface GreedyReport {
  readonly name: string;
  /**
   * `generated`: the tokens were made one after the other and must be the golden ones. `forced`: the golden tokens were
   * given and each next one was predicted, so that one difference does not make all the others.
   */
  readonly mode: 'generated' | 'forced';
  readonly expected: readonly number[];
  readonly got: readonly number[];
  /** How many tokens agree. */
  readonly numEqual: number;
  /** Place of the first token that does not; null when all do. */
  readonly firstDifference: number | null;
}

export interface GreedyOptions {
  readonly run: GoldenRunName;
  readonly mode: 'generated' | 'forced';
  /** Names of the prompts to run. Default: all. */
  readonly prompts?: readonly string[] | undefined;
  /** Most tokens of each prompt. Default: as many as the golden has. */
  readonly maxTokens?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onPrompt?: ((name: string) => void) | undefined;
}

const blockSize = 16;

/** Continues the prompts of the manifest with the best token (ties to the lower id), over a cache in f32. */
export async function replayGreedy(
  backend: Backend,
  model: Model,
  weights: Weights,
  manifest: GoldenManifest,
  options: GreedyOptions,
): Promise<GreedyReport[]> {
  const { run, mode, maxTokens = Number.POSITIVE_INFINITY, signal, onPrompt } = options;
  const prompts = manifest.greedy.prompts.filter(({ name }) => options.prompts?.includes(name) ?? true);
  if (prompts.length === 0) return [];
  const longest = Math.max(...prompts.map((prompt) => prompt.promptIds.length + prompt.runs[run].ids.length));
  const executable = await backend.compile(model.createProgram(), weights, {
    maxTokens: longest,
    maxOutputRows: manifest.greedy.maxTokens,
    cache: { dtype: 'f32', blockSize, numBlocks: Math.ceil(longest / blockSize) },
  });
  try {
    const reports: GreedyReport[] = [];
    for (const prompt of prompts) {
      throwIfAborted(signal);
      onPrompt?.(prompt.name);
      const expected = prompt.runs[run].ids.slice(0, maxTokens);
      const continueWith = mode === 'generated' ? generate : predict;
      reports.push(report(prompt, mode, expected, await continueWith(executable, prompt, expected, signal)));
    }
    return reports;
  } finally {
    await executable.dispose();
  }
}

/** One token after the other, as many as expected; an end token that comes early is a difference like any other. */
export async function generate(
  executable: Executable,
  { promptIds }: Pick<GoldenPrompt, 'promptIds'>,
  expected: readonly number[],
  signal?: AbortSignal,
): Promise<number[]> {
  await zeroCache(executable);
  const got: number[] = [];
  let input = promptIds;
  let start = 0;
  while (got.length < expected.length) {
    const [best] = await bestTokens(executable, input, start, [input.length - 1], signal);
    got.push(best!);
    start += input.length;
    input = [best!];
  }
  return got;
}

/** The best token after the prompt and after each of the expected tokens but the last, in one step. */
async function predict(
  executable: Executable,
  { promptIds }: GoldenPrompt,
  expected: readonly number[],
  signal: AbortSignal | undefined,
): Promise<number[]> {
  if (expected.length === 0) return [];
  await zeroCache(executable);
  const rows = expected.map((_, i) => promptIds.length - 1 + i);
  return bestTokens(executable, [...promptIds, ...expected.slice(0, -1)], 0, rows, signal);
}

/** The token of the largest logit after each of the rows. */
async function bestTokens(
  executable: Executable,
  tokenIds: readonly number[],
  start: number,
  rows: readonly number[],
  signal: AbortSignal | undefined,
): Promise<number[]> {
  const { cache, program } = executable;
  const batch = singleBatch(tokenIds, start, rows, cache, program.cacheGroups.length);
  // Only the argmax is of interest; the ids whose log-probability comes with it do not matter.
  const output = { kind: 'rows', rows: rows.map(() => ({ kind: 'logprob', tokenId: 0 }) as const) } as const;
  const { argmax } = await executable.step(batch, { output, ...(signal && { signal }) });
  return [...argmax!];
}

async function zeroCache({ cache }: Executable): Promise<void> {
  await cache.zeroBlocks(Int32Array.from({ length: cache.numBlocks }, (_, block) => block));
}

function report(
  { name }: GoldenPrompt,
  mode: GreedyReport['mode'],
  expected: readonly number[],
  got: readonly number[],
): GreedyReport {
  const isEqual = expected.map((id, i) => id === got[i]);
  const firstDifference = isEqual.indexOf(false);
  return {
    name,
    mode,
    expected,
    got,
    numEqual: isEqual.filter(Boolean).length,
    firstDifference: firstDifference < 0 ? null : firstDifference,
  };
}
