import { formatBytes, formatTable, printable } from '@hearth/command-line';
import { packedCacheOptions } from '@hearth/hub';
import { listPackedFiles, type PackedFileInfo, removePackedFiles } from '@hearth/kernels';
import { Command } from 'commander';

export function cacheCommand(): Command {
  return new Command('cache')
    .description(
      'List the packed weights that are kept for the next start. They can always be deleted: the model packs again.',
    )
    .option('--clear', 'delete all of them')
    .option('--json', 'print one JSON object')
    .action(async (options: { clear?: boolean; json?: boolean }) => {
      const { directory } = packedCache();
      const files = options.clear ? await removePackedFiles(directory) : await listPackedFiles(directory);
      const bytes = files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
      if (options.json) {
        process.stdout.write(
          `${JSON.stringify({ directory, [options.clear ? 'removed' : 'files']: files }, null, 2)}\n`,
        );
      } else if (options.clear) {
        process.stderr.write(`${formatBytes(bytes)} freed\n`);
      } else {
        process.stdout.write(`${packedTable(files)}\n${formatBytes(bytes)} in ${printable(directory)}\n`);
      }
    });
}

/** What all packed files take. */
export async function packedBytes(): Promise<{ readonly bytes: number; readonly directory: string }> {
  const { directory } = packedCache();
  const files = await listPackedFiles(directory);
  return { bytes: files.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0), directory };
}

/** Packed files of a model that is no more, deleted. */
export function forgetPackedFiles(modelPath: string): Promise<PackedFileInfo[]> {
  return removePackedFiles(packedCache().directory, modelPath);
}

function packedTable(files: readonly PackedFileInfo[]): string {
  const rows = files.map(({ source, sizeBytes, usedAt }) => [
    source === null ? '(damaged)' : printable(source),
    formatBytes(sizeBytes),
    usedAt.toISOString().slice(0, 16).replace('T', ' '),
  ]);
  return formatTable([['PACKED FROM', 'SIZE', 'LAST USED (UTC)'], ...rows], [1]);
}

/** Where they are, also for those who have switched the cache off. */
function packedCache() {
  return packedCacheOptions({ env: { ...process.env, HEARTH_PACKED_CACHE: undefined } })!;
}
