import { formatBytes, printable } from '@hearth/command-line';
import { removeModel } from '@hearth/hub';
import { Command } from 'commander';
import { forgetPackedFiles } from './cache.ts';

export function removeCommand(signal: AbortSignal): Command {
  return new Command('remove')
    .alias('rm')
    .description("Delete a model from Hearth's cache, with its packed weights. Files of your own are never deleted.")
    .argument('<model>', 'name as `hearth list` prints it')
    .action(async (spec: string) => {
      const { removed, freedBytes } = await removeModel(spec, { signal });
      let packedBytes = 0;
      for (const model of removed) {
        process.stderr.write(`Removed ${printable(model.name)}\n`);
        for (const { sizeBytes } of await forgetPackedFiles(model.path)) packedBytes += sizeBytes;
      }
      process.stderr.write(`${formatBytes(freedBytes + packedBytes)} freed\n`);
    });
}
