// Does another engine read what we quantize, and make the same of it? Files of `convertToGguf` in every type are loaded by
// node-llama-cpp and by Hearth, which then are asked the same things. See README.md.
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { convertToGguf, openCheckpoint, type StorageDtype, storageDtypes } from '@hearth/checkpoint';
import { loadModel, type Model } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { installPeer } from '../vs-llama-cpp/install-peer.ts';
import { llama2048, type SourceModel, smollm2 } from './models.ts';
import { type PeerModel, startPeer } from './peer.ts';

const { values } = parseArgs({
  options: {
    model: { type: 'string', default: 'smollm2:135m' },
    types: { type: 'string', default: storageDtypes.join(',') },
    threads: { type: 'string', default: '2' },
  },
});
const dtypes = values.types.split(',') as StorageDtype[];
const numThreads = Number(values.threads);
const contextLength = 512;
const numGreedy = 24;
const numScored = 200;
const prompt = 'The capital of France is';

const directory = fileURLToPath(new URL('../../.cache/peer-reads-ours/', import.meta.url));
const alice = readFileSync(fileURLToPath(new URL('../texts/alice.txt', import.meta.url)), 'utf8');

mkdirSync(directory, { recursive: true });
console.error(installPeer());
const peer = await startPeer(numThreads);
const backend = await createCpuBackend({ numThreads });
try {
  const columns = [
    'Model',
    'Type',
    'Stored',
    'Same greedy tokens',
    'Same best token',
    'As f32: ours',
    'As f32: the peer',
  ];
  console.log(`| ${[...columns, 'Continuation of the peer'].join(' | ')} |`);
  console.log('|---|---|---|---|---|---|---|---|');
  for (const source of [await smollm2(values.model), await llama2048(directory)]) {
    const unrounded = await bestTokensInF32(source.path);
    for (const dtype of dtypes) await compare(source, dtype, unrounded);
  }
} finally {
  await backend.dispose();
  await peer.dispose();
}

async function compare({ name, path: source }: SourceModel, dtype: StorageDtype, unrounded: Int32Array): Promise<void> {
  const path = join(directory, `${name}-${dtype}.gguf`);
  const checkpoint = await openCheckpoint(source, { fileMapper: backend.fileMapper });
  const quantizer = backend.quantizer!;
  await convertToGguf(checkpoint, path, { dtype, quantizer }).finally(() => checkpoint.close());
  const ours = await loadModel(path, { backend, contextLength });
  try {
    const theirs = await peer.load(path, contextLength);
    const cells = await askBoth(ours, theirs, unrounded).finally(() => theirs.dispose());
    const types = Object.entries(ours.info.weightDtypes).filter(([type]) => type !== 'f32' || dtype === 'f32');
    const stored = types.map(([type, weights]) => `${weights?.tensors} ${type}`).join(', ');
    console.log(`| ${[name, dtype, stored, ...cells].join(' | ')} |`);
  } finally {
    await ours.dispose();
    rmSync(path);
  }
}

async function askBoth(ours: Model, theirs: PeerModel, unrounded: Int32Array): Promise<(string | number)[]> {
  const promptIds = await ours.tokenizer.encode(prompt, { addBos: 'auto' });
  const session = ours.createSession({ tokenIds: promptIds });
  const { result } = session.generate({ temperature: 0, maxTokens: numGreedy, ignoreEos: true });
  const [mine, other] = [(await result).tokenIds, await theirs.greedy([...promptIds], numGreedy)];
  await session.dispose();
  const firstOther = other.findIndex((id, i) => id !== mine[i]);
  const numSame = firstOther < 0 ? other.length : firstOther;

  const best = await bestTokens(ours);
  const bestOfPeer = await theirs.bestTokens([...(await textTokens(ours))].slice(0, numScored));
  const text = JSON.stringify(ours.tokenizer.decode(Int32Array.from(other))).replaceAll('|', '\\|');
  return [
    `${numSame} of ${numGreedy}`,
    ...[equal(best, bestOfPeer), equal(best, unrounded), equal(bestOfPeer, unrounded)],
    text,
  ];
}

async function bestTokensInF32(path: string): Promise<Int32Array> {
  const model = await loadModel(path, { backend, contextLength, quantize: 'f32' });
  return bestTokens(model).finally(() => model.dispose());
}

/** The most likely token after each of the first 200 of the text. */
async function bestTokens(model: Model): Promise<Int32Array> {
  const tokenIds = await textTokens(model);
  const session = model.createSession({ tokenIds: tokenIds.subarray(0, 1) });
  const { argmax } = await session.score(tokenIds.subarray(1));
  await session.dispose();
  return argmax;
}

async function textTokens(model: Model): Promise<Int32Array> {
  return (await model.tokenizer.encode(alice.slice(0, 4000), { addBos: 'auto' })).subarray(0, numScored + 1);
}

function equal(a: ArrayLike<number>, b: ArrayLike<number>): number {
  return Array.from(a).filter((id, i) => id === b[i]).length;
}
