import type { Generation, PreparedModel } from '@hearth/engine';
import { resolveSamplingParams } from '@hearth/sampler';
import { Command, Option } from 'commander';
import { generateReport } from '../generate-report.ts';
import { addModelOptions, closeModel, loadWeights, type ModelFlags, openModel } from '../model-options.ts';
import { measureCeilings, rooflineCeilings } from '../profile/ceilings.ts';
import { type ProfileRows, profileTable } from '../profile/profile-table.ts';
import { addSamplingOptions, parseWhole, type SamplingFlags, samplingParams } from '../sampling-options.ts';
import { printable } from '../terminal/format.ts';
import { readPipedInput } from '../terminal/standard-input.ts';
import { UsageError } from '../usage-error.ts';

interface GenerateFlags extends ModelFlags, SamplingFlags {
  prompt?: string;
  system?: string;
  raw?: boolean;
  maxTokens: number;
  stop?: string[];
  logprobs?: number;
  json?: boolean;
  profile?: ProfileRows;
}

/** Answers that nobody limits end here. */
const defaultMaxTokens = 512;

export function generateCommand(signal: AbortSignal): Command {
  const command = new Command('generate')
    .description('Answer one prompt. Standard output carries the answer and nothing else.')
    .option('-p, --prompt <text>', 'the prompt; without it standard input is read')
    .option('-s, --system <text>', 'system message of the chat')
    .option('--raw', 'continue the prompt as text, without the chat template')
    .option('-n, --max-tokens <n>', 'most tokens to make', whole('--max-tokens', 0), defaultMaxTokens)
    .option('--stop <text>', 'end at this text; may be repeated', (text, all: string[] = []) => [...all, text])
    .option('--logprobs <n>', 'with --json: log-probabilities, with this many alternatives', whole('--logprobs', 0))
    .option('--json', 'print one JSON object: tokens, text, timings, memory, machine')
    .addOption(
      new Option('--profile [rows]', 'print time, rates and roofline per operator, or per layer, on standard error')
        .choices(['operators', 'layers'] satisfies ProfileRows[])
        .preset('operators'),
    );
  addSamplingOptions(addModelOptions(command));
  return command.action((flags: GenerateFlags) => generate(flags, signal));
}

/** Runs `hearth generate`; the chat command without a terminal does the same. */
export async function generate(flags: GenerateFlags, signal: AbortSignal): Promise<void> {
  const prompt = flags.prompt ?? (await readPipedInput());
  if (prompt === '') {
    throw new UsageError(
      'There is no prompt. Pipe it in, or pass it to `hearth generate --prompt TEXT`; in a terminal, `hearth chat` opens a conversation.',
    );
  }
  if (flags.logprobs !== undefined && !flags.json) throw new UsageError('--logprobs needs --json.');
  const start = performance.now();
  const opened = await openModel(flags, signal);
  const { resolved, prepared } = opened;
  try {
    // What cannot work is refused here, before the weights are loaded.
    const sampling = { ...samplingParams(flags), logprobs: flags.logprobs };
    resolveSamplingParams(sampling, prepared.info.vocabSize);
    const tokenIds = await encodePrompt(prepared, prompt, flags, signal);
    prepared.checkPrompt(tokenIds);
    const openMs = performance.now() - start;
    const machine = flags.profile ? await measureCeilings(opened.backend.info, signal) : null;
    // What is measured in between is no part of loading.
    const weightsStart = performance.now();
    const model = await loadWeights(opened, flags, signal);
    const loadMs = openMs + performance.now() - weightsStart;
    try {
      const generation = model.createSession({ tokenIds }).generate({
        ...sampling,
        maxTokens: flags.maxTokens,
        stop: flags.stop,
        profile: flags.profile !== undefined,
        signal,
      });
      if (!flags.json) await printText(generation);
      const result = await generation.result;
      if (flags.json) {
        const report = await generateReport({ resolved, info: model.info, result, tokenIds, loadMs });
        process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
      }
      if (flags.profile && result.profile) {
        const options = { by: flags.profile, ceilings: machine && rooflineCeilings(machine) };
        const { prefill, decode } = result.profile;
        process.stderr.write(`\nprefill\n${profileTable(prefill, options)}\n`);
        if (result.tokenIds.length > 1) process.stderr.write(`\ndecode\n${profileTable(decode, options)}\n`);
      }
    } finally {
      await model.dispose();
    }
  } finally {
    await closeModel(opened);
  }
}

/** The prompt as token ids: a chat of one message where the model has a template, plain text otherwise. */
async function encodePrompt(
  prepared: PreparedModel,
  prompt: string,
  { raw, system }: GenerateFlags,
  signal: AbortSignal,
): Promise<Int32Array> {
  if (raw || prepared.chatTemplate === null) {
    if (system !== undefined) {
      throw new UsageError(
        `--system needs a chat template${raw ? ', and --raw goes without' : '; this model has none'}.`,
      );
    }
    if (!raw)
      process.stderr.write('This model takes no chat messages, so the prompt is continued as text (as --raw).\n');
    return prepared.tokenizer.encode(prompt, { addBos: 'auto', signal });
  }
  const systemMessages = system === undefined ? [] : [{ role: 'system', content: system }];
  return prepared.renderChat([...systemMessages, { role: 'user', content: prompt }], { signal });
}

/** On a terminal, control characters that the model wrote are shown rather than obeyed; a pipe gets the text as it is. */
async function printText(generation: Generation): Promise<void> {
  for await (const event of generation) {
    const text = process.stdout.isTTY ? printable(event.text) : event.text;
    if (!process.stdout.write(text)) await new Promise((resolve) => process.stdout.once('drain', resolve));
  }
  process.stdout.write('\n');
}

function whole(flag: string, least: number): (text: string) => number {
  return (text) => parseWhole(text, flag, least);
}
