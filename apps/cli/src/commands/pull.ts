import { formatBytes, pullProgress } from '@hearth/command-line';
import { defaultModelName, pullModel } from '@hearth/hub';
import { Command } from 'commander';

export function pullCommand(signal: AbortSignal): Command {
  return new Command('pull')
    .description('Download a model, or verify that the cached one is intact and current.')
    .argument('[model]', 'catalogue name, Hugging Face repository, or path', defaultModelName)
    .action(async (spec: string) => {
      const progress = pullProgress();
      try {
        const model = await pullModel(spec, { signal, ...progress.options });
        progress.stop();
        process.stderr.write(`${model.name}: ${formatBytes(model.sizeBytes)}, ${model.source.location}\n`);
        process.stdout.write(`${model.path}\n`);
      } finally {
        progress.stop();
      }
    });
}
