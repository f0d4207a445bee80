// node-llama-cpp as a runner: see protocol.ts. The package lies in .cache, so it is imported by path.
import { pathToFileURL } from 'node:url';
import { peerEntry } from './install-peer.ts';
import { serve, settings } from './protocol.ts';

const { modelPath, numThreads, contextLength, flashAttention = false } = settings();
const { getLlama } = await import(pathToFileURL(peerEntry).href);

const start = performance.now();
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: numThreads, logLevel: 'error' });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({
  contextSize: contextLength,
  threads: numThreads,
  batchSize: 512,
  flashAttention,
});
const sequence = context.getSequence();
const ready = { ready: true, loadMs: performance.now() - start, description: llama.systemInfo as string } as const;

serve(ready, async (question) => {
  await sequence.clearHistory();
  const numTokens = question.kind === 'decode' ? question.numTokens : 0;
  const begin = performance.now();
  let first = 0;
  let made = 0;
  for await (const _ of sequence.evaluate([...question.tokenIds], { temperature: 0, yieldEogToken: true })) {
    if (made === 0) first = performance.now();
    if (made++ === numTokens) break;
  }
  return question.kind === 'prefill' ? first - begin : performance.now() - first;
});
