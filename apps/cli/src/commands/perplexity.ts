import { readFile } from 'node:fs/promises';
import {
  addLoadOptions,
  closeModel,
  countProgress,
  formatTable,
  loadWeights,
  type ModelFlags,
  type OpenedModel,
  openModel,
  parseWhole,
} from '@hearth/command-line';
import { InvalidArgumentError } from '@hearth/core';
import { type PerplexityResult, perplexity } from '@hearth/engine';
import { Command } from 'commander';
import { readPipedInput } from '../terminal/standard-input.ts';

interface PerplexityFlags extends Omit<ModelFlags, 'model'> {
  text: string;
  window?: number;
  stride?: number;
  tokens?: number;
  against?: string;
  json?: boolean;
}

/** Output rows of a step: each takes 4 bytes per entry of the vocabulary, 78 MB at 152,000 entries. */
const maxOutputRows = 128;

export function perplexityCommand(signal: AbortSignal): Command {
  const command = new Command('perplexity')
    .description('Measure how well a model predicts a text, and how far a quantized one is from its original.')
    .argument('<model>', 'path, catalogue name, or Hugging Face repository')
    .requiredOption('--text <file>', 'the text, in UTF-8; - reads standard input')
    .option('--window <n>', 'tokens that are run at once (default: 512)', whole('--window', 4))
    .option('--stride <n>', 'tokens from one window to the next (default: half the window)', whole('--stride', 1))
    .option('--tokens <n>', 'score only the first n tokens of the text', whole('--tokens', 2))
    .option('--against <model>', 'compare with this model: top-1 agreement and mean KL divergence')
    .option('--json', 'print one JSON object');
  return addLoadOptions(command).action((model: string, flags: PerplexityFlags) => run({ ...flags, model }, signal));
}

async function run(flags: PerplexityFlags & ModelFlags, signal: AbortSignal): Promise<void> {
  const text = flags.text === '-' ? await readPipedInput() : await readText(flags.text);
  // The other one as it is stored: what --quantize costs is what one wants to know.
  const { quantize: _, ...asStored } = flags;
  const wanted = [flags, ...(flags.against ? [{ ...asStored, model: flags.against }] : [])];
  const opened: OpenedModel[] = [];
  try {
    for (const each of wanted) opened.push(await openModel(each, { signal }));
    const all = await opened[0]!.prepared.tokenizer.encode(text, { addBos: false, signal });
    const tokenIds = all.subarray(0, flags.tokens);
    const models = [];
    try {
      for (const [i, each] of opened.entries()) {
        models.push(await loadWeights(each, wanted[i]!, signal, { maxOutputRows }));
      }
      const [model, against] = models;
      const progress = countProgress('Scoring', 'tokens');
      const result = await perplexity(model!, tokenIds, {
        window: flags.window,
        stride: flags.stride,
        against,
        signal,
        onProgress: ({ doneTokens, totalTokens }) => progress.update(doneTokens, totalTokens),
      }).finally(() => progress.stop());
      process.stdout.write(`${flags.json ? JSON.stringify(result, null, 2) : report(result, flags.against)}\n`);
    } finally {
      for (const model of models) await model.dispose();
    }
  } finally {
    for (const each of opened) await closeModel(each);
  }
}

async function readText(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
  } catch (error) {
    throw new InvalidArgumentError(`--text ${path} could not be read as UTF-8 text: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

function report(result: PerplexityResult, againstName: string | undefined): string {
  const { numTokens, window, stride, seconds, tokensPerSecond, against } = result;
  const spread = result.perplexity * result.standardError;
  const rows = [
    ['perplexity', `${result.perplexity.toFixed(4)} ± ${spread.toFixed(4)}`],
    ['tokens', `${numTokens} scored, windows of ${window}, stride ${stride}`],
    ['speed', `${tokensPerSecond.toFixed(1)} tokens/s (${seconds.toFixed(1)} s)`],
  ];
  if (against) {
    rows.push(
      ['against', `${againstName}, perplexity ${against.perplexity.toFixed(4)}`],
      ['top-1', `${(100 * against.top1Agreement).toFixed(2)}% of tokens agree`],
      ['mean KL', `${against.meanKl.toFixed(6)} nats`],
    );
  }
  return formatTable(rows);
}

function whole(flag: string, least: number): (text: string) => number {
  return (text) => parseWhole(text, flag, least);
}
