// What the KV cache is worth: greedy tokens with the cache, against computing the whole sequence again for every token.
import { parseArgs } from 'node:util';
import { loadModel } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { benchmarkModel } from '../models.ts';
import { median } from '../vs-llama-cpp/statistics.ts';

const { values } = parseArgs({
  options: { model: { type: 'string', default: 'smollm2' }, tokens: { type: 'string', default: '32' } },
});
const numTokens = Number(values.tokens);
const { path, shape } = await benchmarkModel(values.model);
const backend = await createCpuBackend();
const model = await loadModel(path, { backend, contextLength: 512, prefixCache: false, ownsBackend: true });
const promptTokenIds = Array.from({ length: 64 }, (_, i) => 3 + ((i * 37) % 240));
const options = { temperature: 0, ignoreEos: true } as const;

async function cached(): Promise<number[]> {
  const session = model.createSession({ tokenIds: promptTokenIds });
  const { tokenIds } = await session.generate({ ...options, maxTokens: numTokens }).result;
  await session.dispose();
  return [...tokenIds];
}

async function recomputed(): Promise<number[]> {
  const tokenIds: number[] = [];
  while (tokenIds.length < numTokens) {
    const session = model.createSession({ tokenIds: [...promptTokenIds, ...tokenIds] });
    tokenIds.push(...(await session.generate({ ...options, maxTokens: 1 }).result).tokenIds);
    await session.dispose();
  }
  return tokenIds;
}

async function time(run: () => Promise<number[]>): Promise<{ milliseconds: number; tokenIds: number[] }> {
  const start = performance.now();
  const tokenIds = await run();
  return { milliseconds: performance.now() - start, tokenIds };
}

const times = { cached: [] as number[], recomputed: [] as number[] };
for (let round = 0; round <= 3; round++) {
  const a = await time(cached);
  const b = await time(recomputed);
  if (a.tokenIds.join() !== b.tokenIds.join()) throw new Error('Cached and recomputed tokens differ.');
  if (round === 0) continue;
  times.cached.push(a.milliseconds);
  times.recomputed.push(b.milliseconds);
}
await model.dispose();
const speed = (milliseconds: number[]) => ((1000 * numTokens) / median(milliseconds)).toFixed(1);
console.log(
  `${shape}, 64 tokens of prompt, ${numTokens} made: cached ${speed(times.cached)} tokens/s, recomputed ${speed(times.recomputed)} tokens/s, ratio ${(median(times.recomputed) / median(times.cached)).toFixed(1)}; the tokens are equal`,
);
