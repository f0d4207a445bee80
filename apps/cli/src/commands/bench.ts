import type { BackendInfo } from '@hearth/core';
import type { Model } from '@hearth/engine';
import { type MachineProbe, openMachineProbe } from '@hearth/kernels';
import { Command } from 'commander';
import { benchReport } from '../bench/bench-report.ts';
import { measureSpeed, type Speed, summary } from '../bench/measure-speed.ts';
import { measurePhases, phaseTable, rooflineSummary } from '../bench/roofline-report.ts';
import {
  addLoadOptions,
  closeModel,
  loadWeights,
  type ModelFlags,
  type OpenedModel,
  openModel,
} from '../model-options.ts';
import { ceilingsTable } from '../profile/ceilings.ts';
import { parseWhole } from '../sampling-options.ts';
import { formatTable } from '../terminal/format.ts';
import { countProgress } from '../terminal/progress.ts';
import { UsageError } from '../usage-error.ts';

interface BenchFlags extends Omit<ModelFlags, 'model'> {
  promptTokens: number;
  generateTokens: number;
  rounds: number;
  roofline?: boolean;
  json?: boolean;
}

export function benchCommand(signal: AbortSignal): Command {
  const command = new Command('bench')
    .description('Measure the speed of a model on this machine: prefill and decode, in tokens per second.')
    .argument('<model>', 'path, catalogue name, or Hugging Face repository')
    .option('--prompt-tokens <n>', 'tokens of the prompt', whole('--prompt-tokens', 1), 512)
    .option('-n, --generate-tokens <n>', 'tokens that are timed in decode', whole('--generate-tokens', 1), 64)
    .option('--rounds <n>', 'rounds that count, after one that does not', whole('--rounds', 1), 5)
    .option('--roofline', 'profile every operator, against what this machine can do at most')
    .option('--json', 'print one JSON object')
    .addHelpText(
      'after',
      `
Decode is measured from an empty context and after the prompt. Medians of the rounds; the spread is half the distance
between the quartiles. docs/roofline.md says how to read --roofline. The first run of a large model writes its packed
weights to disk meanwhile (hearth cache): run it twice, or give --no-packed-cache.

Examples:
  hearth bench smollm2:135m
  hearth bench ./model.gguf --prompt-tokens 1500 --threads 2
  hearth bench ./model.gguf --roofline`,
    );
  return addLoadOptions(command).action((model: string, flags: BenchFlags) => bench({ ...flags, model }, signal));
}

async function bench(flags: BenchFlags & ModelFlags, signal: AbortSignal): Promise<void> {
  const opened = await openModel(flags, signal);
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
  const model = await loadWeights(opened, flags, signal);
  try {
    const speeds = await measure('Measuring', (onRound) => measureSpeed(model, flags, { signal, onRound }));
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
    const { phase, context, tokens } = speed;
    return [phase, String(context), String(tokens), median.toFixed(1), `±${(100 * spread).toFixed(1)}%`];
  });
  const title = `${info.name}, ${variant}, ${numThreads} ${numThreads === 1 ? 'thread' : 'threads'}, ${info.cacheDtype} cache`;
  return `${title}\n${formatTable([['PHASE', 'CONTEXT', 'TOKENS', 'TOKENS/S', 'SPREAD'], ...rows], [1, 2, 3, 4])}`;
}

function whole(flag: string, least: number): (text: string) => number {
  return (text) => parseWhole(text, flag, least);
}
