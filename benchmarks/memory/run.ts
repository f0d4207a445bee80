// Peak resident memory of a loaded model, against what it may take: 1.15 x file + KV cache + 120 MB. Each model loads in a
// process of its own, because the peak of a process never falls: once packing, once mapping what an earlier start has packed.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadModel } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { benchmarkModel, benchmarkModelNames } from '../models.ts';

const [name, directory, keeps] = process.argv.slice(2);
if (name === undefined || directory === undefined) {
  const columns = [
    'Model',
    'Weights',
    'File',
    'Packed',
    'KV',
    'Resident: anonymous',
    'of files',
    'in huge pages',
    'Peak',
  ];
  console.log(`| ${columns.join(' | ')} | Bound | Peak / bound |\n|${'---|'.repeat(columns.length + 2)}`);
  const cache = fileURLToPath(new URL('../../.cache/', import.meta.url));
  mkdirSync(cache, { recursive: true });
  for (const each of name === undefined ? benchmarkModelNames : [name]) {
    const packed = mkdtempSync(`${cache}memory-`);
    // The second one, whose packed weights are kept, is not counted: writing is no part of loading.
    for (const run of [
      ['', ''],
      [packed, 'keep'],
      [packed, ''],
    ]) {
      const script = fileURLToPath(import.meta.url);
      const row = execFileSync(process.execPath, ['--import', 'tsx', script, each, ...run], { encoding: 'utf8' });
      if (run[1] === '') process.stdout.write(row);
    }
    rmSync(packed, { recursive: true });
  }
} else {
  const { path, shape, format } = await benchmarkModel(name);
  const backend = await createCpuBackend();
  const packedCache =
    directory === '' ? undefined : { directory, maxBytes: 1e12, minBytes: 0, onWarning: console.error };
  const model = await loadModel(path, { backend, contextLength: 1024, ownsBackend: true, packedCache });
  const session = model.createSession({ tokenIds: [3, 40, 77] });
  await session.generate({ maxTokens: 8, temperature: 0, ignoreEos: true }).result;
  const peak = process.resourceUsage().maxRSS * 1024;
  const { fileBytes, packedBytes, kvBytes, weightsFromCache } = model.info;
  const bound = 1.15 * fileBytes + kvBytes + 120e6;
  const { anonymous, ofFiles, huge } = residentBytes();
  const megabytes = [fileBytes, packedBytes, kvBytes, anonymous, ofFiles, huge, peak, bound].map((b) =>
    (b / 1e6).toFixed(0),
  );
  const cells = [`${shape} ${format}`, weightsFromCache ? 'mapped' : 'packed', ...megabytes, (peak / bound).toFixed(2)];
  console.log(`| ${cells.join(' | ')} |`);
  const isKept = () => readdirSync(directory).some((file) => file.endsWith('.packed'));
  while (keeps && !isKept()) await sleep(100);
  await model.dispose();
}

/** What is resident now, as Linux counts it: memory of the process alone, pages of files (shared or not), both in huge pages. */
function residentBytes(): { anonymous: number; ofFiles: number; huge: number } {
  const rollup = readFileSync('/proc/self/smaps_rollup', 'utf8');
  const field = (key: string) => Number(new RegExp(`^${key}: +(\\d+) kB`, 'm').exec(rollup)?.[1] ?? 0) * 1024;
  const anonymous = field('Anonymous');
  return { anonymous, ofFiles: field('Rss') - anonymous, huge: field('AnonHugePages') + field('FilePmdMapped') };
}
