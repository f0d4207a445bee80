import { openCheckpoint } from '@hearth/checkpoint';
import {
  addBackendOptions,
  type BackendFlags,
  byteProgress,
  openBackend,
  parseWhole,
  printable,
  pullProgress,
} from '@hearth/command-line';
import { UnsupportedError } from '@hearth/core';
import { describeReport, findGoldens, openGoldens, replayGoldens, type WeightsForm } from '@hearth/golden';
import { resolveModel } from '@hearth/hub';
import { Command, Option } from 'commander';

interface VerifyFlags extends BackendFlags {
  golden?: string;
  weights?: WeightsForm;
  prompt?: string[];
  maxTokens?: number;
  json?: boolean;
}

export function verifyCommand(signal: AbortSignal): Command {
  const command = new Command('verify')
    .description(
      'Hold a model against what PyTorch and Transformers compute for it, and name the first boundary that differs.',
    )
    .argument('<model>', 'path, catalogue name, or Hugging Face repository')
    .option('--golden <directory>', 'golden tensors; default: those that come with Hearth, found by the model')
    .addOption(
      new Option('--weights <form>', 'decode the weights, round them to bf16, or run them as stored').choices([
        'float32',
        'bfloat16',
        'stored',
      ]),
    )
    .option('--prompt <name>', 'run only this greedy prompt; may be repeated', (name, all: string[] = []) => [
      ...all,
      name,
    ])
    .option('-n, --max-tokens <n>', 'most tokens per greedy prompt', (text) => parseWhole(text, '--max-tokens', 1))
    .option('--json', 'print one JSON object');
  return addBackendOptions(command).action(async (spec: string, flags: VerifyFlags) => {
    const passed = await verify(spec, flags, signal);
    if (!passed) process.exitCode = 1;
  });
}

async function verify(spec: string, flags: VerifyFlags, signal: AbortSignal): Promise<boolean> {
  const pull = pullProgress();
  const { path, name } = await resolveModel(spec, { signal, ...pull.options }).finally(() => pull.stop());
  const backend = await openBackend(flags);
  try {
    const checkpoint = await openCheckpoint(path, { fileMapper: backend.fileMapper, signal });
    const progress = byteProgress('Loading weights');
    try {
      const goldens = flags.golden ? await openGoldens(flags.golden) : await findGoldens(checkpoint);
      if (!goldens) {
        throw new UnsupportedError(
          `No golden tensors come with Hearth for ${name}. Make some with tools/golden and pass their folder as --golden.`,
        );
      }
      const report = await replayGoldens({
        checkpoint,
        backend,
        goldens,
        weights: flags.weights,
        prompts: flags.prompt,
        maxTokens: flags.maxTokens,
        signal,
        onProgress(event) {
          if (event.phase === 'weights') progress.update(event.doneBytes, event.totalBytes);
          else progress.stop();
        },
      });
      const text = flags.json ? JSON.stringify(report, null, 2) : describeReport(report).map(printable).join('\n');
      process.stdout.write(`${text}\n`);
      return report.passed;
    } finally {
      progress.stop();
      await checkpoint.close();
    }
  } finally {
    await backend.dispose();
  }
}
