// Starts a TypeScript worker file from sources (tests, development), so that editing one never waits for a build.
// Node 20 does not hand loaders down to worker threads, and registering one in each thread takes half a second; bundling
// the file in memory takes a tenth of that. The published package never comes here: its workers are JavaScript.
import { fileURLToPath } from 'node:url';
import { workerData } from 'node:worker_threads';
import { build, stop } from 'esbuild';

const { outputFiles } = await build({
  entryPoints: [fileURLToPath(workerData.hearthWorkerUrl)],
  bundle: true,
  conditions: ['@hearth/source'],
  format: 'esm',
  platform: 'node',
  target: 'node20',
  write: false,
});
await stop();
await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
