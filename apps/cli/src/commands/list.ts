import { formatBytes, formatTable, printable } from '@hearth/command-line';
import { catalogue, listModels } from '@hearth/hub';
import { Command } from 'commander';
import { packedBytes } from './cache.ts';

export function listCommand(signal: AbortSignal): Command {
  return new Command('list')
    .alias('ls')
    .description('List the models in the cache, and those that can be pulled by name.')
    .option('--json', 'print one JSON object')
    .action(async (options: { json?: boolean }) => {
      const models = await listModels({ signal });
      const cached = new Set(models.filter((model) => model.complete).map((model) => model.name));
      const available = catalogue.filter((entry) => !cached.has(entry.name));
      if (options.json) {
        process.stdout.write(`${JSON.stringify({ models, available }, null, 2)}\n`);
        return;
      }
      const rows = [
        ...models.map((model) => [
          printable(model.name),
          formatBytes(model.sizeBytes),
          model.complete ? printable(model.path) : 'incomplete; pull again to resume',
        ]),
        ...available.map((entry) => [entry.name, formatBytes(entry.sizeBytes), `not here; hearth pull ${entry.name}`]),
      ];
      process.stdout.write(`${formatTable([['MODEL', 'SIZE', 'WHERE'], ...rows], [1])}\n`);
      const { bytes, directory } = await packedBytes();
      if (bytes > 0) {
        process.stdout.write(
          `Packed weights take ${formatBytes(bytes)} in ${printable(directory)}; see hearth cache\n`,
        );
      }
    });
}
