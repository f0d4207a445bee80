/**
 * Fetches a catalogue model from the real network: interrupted half way, resumed, verified, then used from the cache. Not
 * part of the test suite, which needs no network. `pnpm --filter @hearth/hub real-download [MODEL [DIRECTORY]]`.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import {
  defaultModelName,
  findInCatalogue,
  type HubOptions,
  listModels,
  pullModel,
  resolveModel,
} from '../src/index.ts';

const [name = defaultModelName, kept] = process.argv.slice(2);
const entry = findInCatalogue(name);
if (!entry) throw new Error(`There is no model '${name}' in the catalogue.`);
const cacheDirectory = kept ?? (await mkdtemp(path.join(os.tmpdir(), 'hearth-real-download-')));
const onWarning: HubOptions['onWarning'] = ({ message }) => console.log(`warning: ${message}`);

async function timed<T>(what: string, work: () => Promise<T>): Promise<T> {
  const start = performance.now();
  const result = await work();
  console.log(`${what}: ${((performance.now() - start) / 1000).toFixed(2)} s`);
  return result;
}

try {
  const controller = new AbortController();
  const interrupted = await timed('first half, then aborted', () =>
    pullModel(name, {
      cacheDirectory,
      onWarning,
      signal: controller.signal,
      onProgress: ({ phase, completedBytes }) => {
        if (phase === 'download' && completedBytes > entry.sizeBytes / 2) controller.abort();
      },
    }).then(
      () => 'it was already complete',
      (error) => error.code,
    ),
  );
  console.log(`ended with: ${interrupted}`);
  const partial = (await listModels({ cacheDirectory })).find((model) => model.name === entry.name);
  console.log(`in the cache: ${partial?.sizeBytes} bytes, complete: ${partial?.complete}`);

  let firstByte: number | undefined;
  const model = await timed('resumed', () =>
    pullModel(name, {
      cacheDirectory,
      onProgress: ({ phase, completedBytes }) => {
        if (phase === 'download') firstByte ??= completedBytes;
      },
    }),
  );
  console.log(`resumed at byte ${firstByte}; source: ${model.source.location}`);
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(model.path)) hash.update(chunk);
  const sha256 = hash.digest('hex');
  console.log(`sha256 ${sha256}: ${sha256 === entry.sha256 ? 'right' : 'WRONG'}`);
  await timed('resolved from the cache, offline', () => resolveModel(name, { cacheDirectory, offline: true }));
  await timed('verified again', () => pullModel(name, { cacheDirectory, offline: true }));
  if (sha256 !== entry.sha256) process.exitCode = 1;
} finally {
  if (!kept) await rm(cacheDirectory, { recursive: true, force: true });
}
