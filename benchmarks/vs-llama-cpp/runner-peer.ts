// node-llama-cpp as a runner: see protocol.ts. The package lies in .cache, so it is imported by path.
import { pathToFileURL } from 'node:url';
import { peerEntry } from './install-peer.ts';
import { loadedCpuLibrary } from './peer-isa.ts';
import { type Question, serve, settings } from './protocol.ts';

const { modelPath, numThreads, contextLength, ...others } = settings();
const { getLlama } = await import(pathToFileURL(others.peerEntry ?? peerEntry).href);

const start = performance.now();
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: numThreads, logLevel: 'error' });
const model = await llama.loadModel({ modelPath });
const sequences = new Map<boolean, Awaited<ReturnType<typeof createSequence>>>();
for (const flashAttention of [false, true]) sequences.set(flashAttention, await createSequence(flashAttention));
const ready = {
  ready: true,
  loadMs: performance.now() - start,
  description: (llama.systemInfo as string).trim(),
  cpuLibrary: loadedCpuLibrary(),
} as const;

/** One context for each way to attend; they share the model. Keys and values are f16, the default. */
async function createSequence(flashAttention: boolean) {
  const context = await model.createContext({
    contextSize: contextLength,
    threads: numThreads,
    batchSize: 512,
    flashAttention,
  });
  return { sequence: context.getSequence(), prompt: '' };
}

serve(ready, async (question) => {
  const { kind, tokenIds, flashAttention = false } = question;
  const numTokens = kind === 'decode' ? question.numTokens : 0;
  const unread = await prepare(question);
  const begin = performance.now();
  let first = 0;
  let made = 0;
  const { sequence } = sequences.get(flashAttention)!;
  for await (const _ of sequence.evaluate(unread, { temperature: 0, yieldEogToken: true })) {
    if (made === 0) first = performance.now();
    if (made++ === numTokens) break;
  }
  sequences.get(flashAttention)!.prompt = tokenIds.join();
  return { milliseconds: kind === 'prefill' ? first - begin : performance.now() - first };
});

/** Leaves in the cache what this question may find there, and returns the tokens that are still to be read. */
async function prepare({ kind, tokenIds, flashAttention = false }: Question): Promise<number[]> {
  const { sequence, prompt } = sequences.get(flashAttention)!;
  const numKept = tokenIds.length - 1;
  if (kind === 'prefill' || numKept === 0 || prompt !== tokenIds.join()) {
    await sequence.clearHistory();
    return [...tokenIds];
  }
  await sequence.eraseContextTokenRanges([{ start: numKept, end: sequence.nextTokenIndex }]);
  if (sequence.nextTokenIndex !== numKept) throw new Error('The peer did not keep the prompt in its cache.');
  return tokenIds.slice(numKept);
}
