// node-llama-cpp as a runner: see protocol.ts. The package lies in .cache, so it is imported by path.
import { pathToFileURL } from 'node:url';
import { peerEntry } from '../vs-llama-cpp/install-peer.ts';
import { loadedCpuLibrary } from '../vs-llama-cpp/peer-isa.ts';
import { type RunnerSettings, serve, settings } from '../vs-llama-cpp/protocol.ts';
import { contextLength, type ServingAnswer, type ServingQuestion, timesOf } from './protocol.ts';

const { modelPath, numThreads, ...others } = settings<RunnerSettings>();
const { getLlama } = await import(pathToFileURL(others.peerEntry ?? peerEntry).href);

const start = performance.now();
const llama = await getLlama({ gpu: false, build: 'never', maxThreads: numThreads, logLevel: 'error' });
const model = await llama.loadModel({ modelPath });

/** What is used of its sequence. */
interface PeerSequence {
  readonly nextTokenIndex: number;
  clearHistory(): Promise<void>;
  eraseContextTokenRanges(ranges: readonly { readonly start: number; readonly end: number }[]): Promise<void>;
  evaluateWithoutGeneratingNewTokens(tokenIds: readonly number[]): Promise<void>;
  evaluate(tokenIds: readonly number[], options: object): AsyncIterable<unknown>;
}

/** A context, which batches what its sequences ask for, and the prompts that they have computed. */
interface Sequences {
  readonly context: { dispose(): Promise<void> };
  readonly sequences: readonly PeerSequence[];
  prompts: string;
}

/** By way to attend; all of the number that was asked for last. */
const contexts = new Map<boolean, Sequences>();

serve<ServingQuestion, ServingAnswer>(
  {
    ready: true,
    loadMs: performance.now() - start,
    description: (llama.systemInfo as string).trim(),
    cpuLibrary: loadedCpuLibrary(),
  },
  async (question) => {
    const { prompts, numTokens, flashAttention = false } = question;
    const { sequences } = await sequencesFor(prompts.length, flashAttention);
    const unread = await prepare(question);
    const begin = performance.now();
    const tokens = sequences.map((s, i) => s.evaluate(unread[i]!, { temperature: 0, yieldEogToken: true }));
    return { tokenMs: await Promise.all(tokens.map((each) => timesOf(each, begin, numTokens))) };
  },
);

/** Keys and values are f16, the default; so is the way that a batch is shared out: as many sequences as possible. */
async function sequencesFor(count: number, flashAttention: boolean): Promise<Sequences> {
  const present = contexts.get(flashAttention);
  if (present?.sequences.length === count) return present;
  await present?.context.dispose();
  const context = await model.createContext({
    contextSize: contextLength,
    sequences: count,
    threads: numThreads,
    batchSize: 512,
    flashAttention,
  });
  const sequences: PeerSequence[] = Array.from({ length: count }, () => context.getSequence());
  const created = { context, sequences, prompts: '' };
  contexts.set(flashAttention, created);
  return created;
}

/** Leaves in the cache what this question may find there, and returns the tokens that are still to be read, by sequence. */
async function prepare({ kind, prompts, flashAttention = false }: ServingQuestion): Promise<number[][]> {
  const held = contexts.get(flashAttention)!;
  const numKept = prompts[0]!.length - 1;
  const isKept = kind === 'decode' && held.prompts === JSON.stringify(prompts);
  for (const [i, sequence] of held.sequences.entries()) {
    if (isKept) await sequence.eraseContextTokenRanges([{ start: numKept, end: sequence.nextTokenIndex }]);
    else await sequence.clearHistory();
    if (kind === 'decode' && !isKept) await sequence.evaluateWithoutGeneratingNewTokens(prompts[i]!.slice(0, numKept));
    if (sequence.nextTokenIndex !== (kind === 'decode' ? numKept : 0)) {
      throw new Error('The peer did not keep the prompt in its cache.');
    }
  }
  held.prompts = kind === 'decode' ? JSON.stringify(prompts) : '';
  return prompts.map((tokenIds) => tokenIds.slice(kind === 'decode' ? numKept : 0));
}
