// How long the event loop stands still while a model is loaded, a 100 kB prompt is tokenized, and text is generated.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { loadModel } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { benchmarkModel } from '../models.ts';

const { path, shape } = await benchmarkModel(process.argv[2] ?? 'smollm2');
const delays = monitorEventLoopDelay({ resolution: 1 });

async function watch<Result>(what: string, run: () => Promise<Result>): Promise<Result> {
  // One turn before and after, so that the delay of this phase is counted in this phase.
  await new Promise((resolve) => setTimeout(resolve, 50));
  delays.reset();
  delays.enable();
  const start = performance.now();
  const result = await run();
  const milliseconds = performance.now() - start;
  await new Promise((resolve) => setTimeout(resolve, 5));
  delays.disable();
  console.log(`${shape}, ${what}: ${milliseconds.toFixed(0)} ms, largest delay ${(delays.max / 1e6).toFixed(1)} ms`);
  return result;
}

const backend = await createCpuBackend();
const model = await watch('load', () => loadModel(path, { backend, contextLength: 1024, ownsBackend: true }));
const text = 'The quick brown fox jumps over the lazy dog, again and again. '.repeat(1700).slice(0, 100_000);
await watch('tokenize 100 kB', () => model.tokenizer.encode(text));
await watch('generate 64 tokens', async () => {
  const tokenIds = await model.tokenizer.encode('Once upon a time');
  return model.createSession({ tokenIds }).generate({ maxTokens: 64, temperature: 0, ignoreEos: true }).result;
});
await model.dispose();
