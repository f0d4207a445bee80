// Peak resident memory of a loaded model, against the bytes of its file. Each model loads in a process of its own, because
// the peak of a process never falls.
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { loadModel } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { benchmarkModel, benchmarkModelNames } from '../models.ts';

const name = process.argv[2];
if (name === undefined) {
  console.log('| Model | File, MB | Packed, MB | Resident, MB | Peak, MB | (Peak - 150 MB) / file |');
  console.log('|---|---|---|---|---|---|');
  for (const each of benchmarkModelNames) {
    const script = fileURLToPath(import.meta.url);
    const row = execFileSync(process.execPath, ['--import', 'tsx', script, each], { encoding: 'utf8' });
    process.stdout.write(row);
  }
} else {
  const { path, shape, format } = await benchmarkModel(name);
  const backend = await createCpuBackend();
  const model = await loadModel(path, { backend, contextLength: 1024, ownsBackend: true });
  const session = model.createSession({ tokenIds: [3, 40, 77] });
  await session.generate({ maxTokens: 8, temperature: 0, ignoreEos: true }).result;
  const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);
  const peak = process.resourceUsage().maxRSS * 1024;
  const { fileBytes, packedBytes } = model.info;
  const share = ((peak - 150e6) / fileBytes).toFixed(2);
  const cells = [fileBytes, packedBytes, process.memoryUsage.rss(), peak].map(megabytes);
  console.log(`| ${shape} ${format} | ${cells.join(' | ')} | ${share} |`);
  await model.dispose();
}
