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
  UsageError,
} from '@hearth/command-line';
import type { BackendInfo } from '@hearth/core';
import type { LoadWeightsOptions, Model } from '@hearth/engine';
import { type MachineProbe, openMachineProbe } from '@hearth/kernels';
import { Command } from 'commander';
import { benchReport } from '../bench/bench-report.ts';
import { measureSpeed, type Speed, summary } from '../bench/measure-speed.ts';
import { measureThroughput } from '../bench/measure-throughput.ts';
import { measurePhases, phaseTable, rooflineSummary } from '../bench/roofline-report.ts';
import { ceilingsTable } from '../profile/ceilings.ts';

interface BenchFlags extends Omit<ModelFlags, 'model'> {
  promptTokens: number;
  generateTokens: number;
  rounds: number;
  sequences: number;
  roofline?: boolean;
  json?: boolean;
}

/** A step has a token for each sequence that generates, and no more than 256 tokens by default. */
const mostSequences = 256;

export function benchCommand(signal: AbortSignal): Command {
  const command = new Command('bench')
    .description('Measure the speed of a model on this machine: prefill and decode, in tokens per second.')
    .argument('<model>', 'path, catalogue name, or Hugging Face repository')
    .option('--prompt-tokens <n>', 'tokens of the prompt', whole('--prompt-tokens', 1), 512)
    .option('-n, --generate-tokens <n>', 'tokens that are timed in decode', whole('--generate-tokens', 1), 64)
    .option('--rounds <n>', 'rounds that count, after one that does not', whole('--rounds', 1), 5)
    .option('--sequences <n>', 'also measure this many at once', parseSequences, 1)
    .option('--roofline', 'profile every operator, against what this machine can do at most')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Decode is measured from an empty context and after the prompt. Medians of the rounds; the spread is half the distance
between the quartiles. --sequences hands in that many prompts at the same moment: what they generate together until the
last one ends, prefill included, and what each one sees after its first token. docs/roofline.md says how to read --roofline. The first run of a large model writes its packed
weights to disk meanwhile (hearth cache): run it twice, or give --no-packed-cache.

Examples:
  hearth bench smollm2:135m
  hearth bench ./model.gguf --prompt-tokens 1500 --threads 2
  hearth bench smollm2:135m --sequences 8 --prompt-tokens 64
  hearth bench ./model.gguf --roofline`,
    );
  return addLoadOptions(command).action((model: string, flags: BenchFlags) => bench({ ...flags, model }, signal));
}

async function bench(flags: BenchFlags & ModelFlags, signal: AbortSignal): Promise<void> {
  const opened = await openModel(flags, { signal });
  try {
    checkContext(flags, opened.prepared.info.contextLength);
    const probe = flags.roofline ? await openProbe(opened.backend.info) : null;
    try {
      await measureModel(flags, opened, probe, signal);
    } finally {
      await probe?.dispose();
    }
  } finally {
    await closeModel(opened);
  }
}

/** With a probe, also the ceilings, before the weights are loaded, and profiles held against them. */
async function measureModel(
  flags: BenchFlags & ModelFlags,
  opened: OpenedModel,
  probe: MachineProbe | null,
  signal: AbortSignal,
): Promise<void> {
  const print = (text: string) => {
    if (!flags.json) process.stdout.write(`${text}\n`);
  };
  if (probe) process.stderr.write('Measuring this machine ...\n');
  const ceilings = probe && (await probe.measureAll(signal));
  if (ceilings) print(`${ceilingsTable(ceilings)}\n`);
  const model = await loadWeights(opened, flags, signal, loadOptions(flags, opened.prepared.info.contextLength));
  try {
    const speeds = await measure('Measuring', (onRound) => measureSpeed(model, flags, { signal, onRound }));
    if (flags.sequences > 1) {
      const label = `Measuring ${flags.sequences} at once`;
      speeds.push(...(await measure(label, (onRound) => measureThroughput(model, flags, { signal, onRound }))));
    }
    print(speedTable(model, speeds));
    const phases = probe
      ? await measure('Profiling', (onRound) => measurePhases(model, probe, flags, { signal, onRound }))
      : [];
    for (const phase of phases) print(`\n${phaseTable(phase)}`);
    if (probe) print(`\n${rooflineSummary(phases)}`);
    if (flags.json) {
      const report = await benchReport({ resolved: opened.resolved, info: model.info, speeds, ceilings, phases });
      process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
    }
  } finally {
    await model.dispose();
  }
}

/** Every round computes its prompts anew, and all sequences find room: nothing but their speed is to be measured. */
function loadOptions(
  { sequences, promptTokens, generateTokens }: BenchFlags,
  contextLength: number,
): LoadWeightsOptions {
  if (sequences === 1) return { prefixCache: false };
  // The last token needs no place; a block may be begun by each.
  const cacheTokens = Math.max(contextLength, sequences * (promptTokens + generateTokens + 32));
  return { prefixCache: false, cacheTokens, maxSequences: sequences, maxOutputRows: sequences };
}

/** With the instructions and the threads of the backend. */
function openProbe({ kind, variant, numThreads }: BackendInfo): Promise<MachineProbe> {
  if (kind === 'cpu') return openMachineProbe({ variant, numThreads });
  throw new UsageError('--roofline needs the C++ kernels: the reference backend has no ceilings to be held against.');
}

function checkContext({ promptTokens, generateTokens }: BenchFlags, contextLength: number): void {
  // One token ends prefill, and the last one that is timed has a position too.
  const needed = promptTokens + generateTokens + 1;
  if (needed <= contextLength) return;
  throw new UsageError(
    `${promptTokens} tokens of prompt and ${generateTokens} generated need ${needed} positions, the context has ${contextLength}. Give more with --context, or measure fewer.`,
  );
}

async function measure<Result>(
  label: string,
  run: (onRound: (done: number, total: number) => void) => Promise<Result>,
): Promise<Result> {
  const progress = countProgress(label, 'rounds');
  return run((done, total) => progress.update(done, total)).finally(() => progress.stop());
}

function speedTable({ info }: Model, speeds: readonly Speed[]): string {
  const { variant, numThreads } = info.backend;
  const rows = speeds.map((speed) => {
    const { median, spread } = summary(speed);
    const { context, tokens } = speed;
    return [phaseLabel(speed), String(context), String(tokens), median.toFixed(1), `±${(100 * spread).toFixed(1)}%`];
  });
  const title = `${info.name}, ${variant}, ${numThreads} ${numThreads === 1 ? 'thread' : 'threads'}, ${info.cacheDtype} cache`;
  return `${title}\n${formatTable([['PHASE', 'CONTEXT', 'TOKENS', 'TOKENS/S', 'SPREAD'], ...rows], [1, 2, 3, 4])}`;
}

function phaseLabel({ phase, sequences }: Speed): string {
  if (phase === 'together') return `${sequences} at once, prefill and decode`;
  return phase === 'each' ? 'each of them' : phase;
}

function parseSequences(text: string): number {
  const sequences = parseWhole(text, '--sequences', 1);
  if (sequences > mostSequences) throw new UsageError(`--sequences takes at most ${mostSequences}, got ${text}.`);
  return sequences;
}

function whole(flag: string, least: number): (text: string) => number {
  return (text) => parseWhole(text, flag, least);
}
