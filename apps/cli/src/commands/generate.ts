import {
  type AnsweringFlags,
  addAnsweringOptions,
  closeWithDraft,
  loadWithDraft,
  openWithDraft,
  parseWhole,
  printable,
  UsageError,
} from '@hearth/command-line';
import type { Generation } from '@hearth/engine';
import { resolveSamplingParams } from '@hearth/sampler';
import { Command, Option } from 'commander';
import { type AnswerFlags, addAnswerOptions, answerOptions } from '../answer-options.ts';
import { encodePrompt, warnOfNoTemplate } from '../encode-prompt.ts';
import { generateReport } from '../generate-report.ts';
import { measureCeilings, rooflineCeilings } from '../profile/ceilings.ts';
import { type ProfileRows, profileTable } from '../profile/profile-table.ts';
import { samplingParams } from '../sampling-options.ts';
import { readPipedInput } from '../terminal/standard-input.ts';
import { writeOutput } from '../terminal/write-output.ts';
import { generateMany } from './generate-many.ts';

export interface GenerateFlags extends AnsweringFlags, AnswerFlags {
  prompt?: string;
  prompts?: string;
  system?: string;
  raw?: boolean;
  stop?: string[];
  logprobs?: number;
  json?: boolean;
  profile?: ProfileRows;
}

/** Answers that nobody limits end here. */
const defaultMaxTokens = 512;

export function generateCommand(signal: AbortSignal): Command {
  const command = new Command('generate')
    .description('Answer a prompt, or many at once. Standard output carries the answers and nothing else.')
    .option('-p, --prompt <text>', 'the prompt; without it standard input is read')
    .addOption(
      new Option(
        '--prompts <file>',
        'many prompts, a line {"prompt": "...", "system": "..."} each, system as you like (- is standard input): prints a line of JSON per answer as they end',
      ).conflicts(['prompt', 'json', 'profile']),
    )
    .option('-s, --system <text>', 'system message of the chat')
    .option('--raw', 'continue the prompt as text, without the chat template')
    .option('-n, --max-tokens <n>', 'most tokens to make', whole('--max-tokens', 0), defaultMaxTokens)
    .option('--stop <text>', 'end at this text; may be repeated', (text, all: string[] = []) => [...all, text])
    .option('--logprobs <n>', 'in JSON: log-probabilities, with this many alternatives', whole('--logprobs', 0))
    .option('--json', 'print one JSON object: tokens, text, timings, memory, machine')
    .addOption(
      new Option('--profile [rows]', 'print time, rates and roofline per operator, or per layer, on standard error')
        .choices(['operators', 'layers'] satisfies ProfileRows[])
        .preset('operators'),
    );
  addAnswerOptions(addAnsweringOptions(command));
  return command.action((flags: GenerateFlags) =>
    flags.prompts === undefined ? generate(flags, signal) : generateMany(flags.prompts, flags, signal),
  );
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
  const opened = await openWithDraft(flags, { signal });
  const { resolved, prepared } = opened;
  try {
    // What cannot work is refused here, before the weights are loaded.
    resolveSamplingParams({ ...samplingParams(flags), logprobs: flags.logprobs }, prepared.info.vocabSize);
    warnOfNoTemplate(prepared, flags.raw === true);
    const { system, raw = false } = flags;
    const tokenIds = await encodePrompt(prepared, { prompt, system }, { raw, signal });
    prepared.checkPrompt(tokenIds);
    const openMs = performance.now() - start;
    const machine = flags.profile ? await measureCeilings(opened.backend.info, signal) : null;
    // What is measured in between is no part of loading.
    const weightsStart = performance.now();
    const loaded = await loadWithDraft(opened, flags, signal);
    const { model, draft } = loaded;
    const loadMs = openMs + performance.now() - weightsStart;
    try {
      const generation = model.createSession({ tokenIds }).generate({
        ...answerOptions(flags),
        logprobs: flags.logprobs,
        stop: flags.stop,
        profile: flags.profile !== undefined,
        signal,
      });
      if (!flags.json) await printText(generation);
      const result = await generation.result;
      if (flags.json) {
        const report = await generateReport({
          resolved,
          info: model.info,
          draft: draft && { resolved: opened.draft!.resolved, info: draft.info },
          result,
          tokenIds,
          loadMs,
        });
        process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
      }
      if (flags.profile && result.profile) {
        const options = { by: flags.profile, ceilings: machine && rooflineCeilings(machine) };
        const { prefill, decode } = result.profile;
        process.stderr.write(`\nprefill\n${profileTable(prefill, options)}\n`);
        if (result.tokenIds.length > 1) process.stderr.write(`\ndecode\n${profileTable(decode, options)}\n`);
      }
    } finally {
      await loaded.dispose();
    }
  } finally {
    await closeWithDraft(opened);
  }
}

/** On a terminal, control characters that the model wrote are shown rather than obeyed; a pipe gets the text as it is. */
async function printText(generation: Generation): Promise<void> {
  let isWithinLine = false;
  try {
    for await (const event of generation) {
      await writeOutput(process.stdout.isTTY ? printable(event.text) : event.text);
      isWithinLine = true;
    }
  } catch (error) {
    // What is said of it begins on a line of its own.
    if (isWithinLine) await writeOutput('\n');
    throw error;
  }
  await writeOutput('\n');
}

function whole(flag: string, least: number): (text: string) => number {
  return (text) => parseWhole(text, flag, least);
}
