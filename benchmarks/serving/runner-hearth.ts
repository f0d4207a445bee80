// Hearth as a runner: see protocol.ts.
import { loadModel, type Session } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { type RunnerSettings, serve, settings } from '../vs-llama-cpp/protocol.ts';
import { contextLength, type ServingAnswer, type ServingQuestion, timesOf } from './protocol.ts';

/** Most sequences at once. */
const { modelPath, numThreads, numSequences } = settings<RunnerSettings & { readonly numSequences: number }>();

const start = performance.now();
const backend = await createCpuBackend({ numThreads });
// One sequence more than are asked for: the single one stays while many decode.
const cacheTokens = (numSequences + 1) * contextLength;
const model = await loadModel(modelPath, { backend, contextLength, cacheTokens });
const { variant } = model.info.backend;

/** Sessions of `decode` by how many there are; their prompts are in the cache. */
const kept = new Map<number, Session[]>();

serve<ServingQuestion, ServingAnswer>(
  { ready: true, loadMs: performance.now() - start, description: `variant ${variant}` },
  async ({ kind, prompts, numTokens }) => {
    await disposeOthers(kind === 'output' ? [] : [1, prompts.length]);
    const sessions = kind === 'output' ? createSessions(prompts) : await sessionsBehind(prompts);
    const begin = performance.now();
    const generations = sessions.map((s) => s.generate({ maxTokens: numTokens, temperature: 0, ignoreEos: true }));
    const tokenMs = await Promise.all(generations.map((generation) => timesOf(generation, begin)));
    if (kind === 'output') await Promise.all(sessions.map((session) => session.dispose()));
    return { tokenMs };
  },
);

function createSessions(prompts: ServingQuestion['prompts']): Session[] {
  return prompts.map((tokenIds) => model.createSession({ tokenIds }));
}

/** Sessions that hold these prompts and nothing else, computed. */
async function sessionsBehind(prompts: ServingQuestion['prompts']): Promise<Session[]> {
  const sessions = kept.get(prompts.length) ?? createSessions(prompts);
  kept.set(prompts.length, sessions);
  for (const [i, session] of sessions.entries()) session.replaceTokens(prompts[i]!);
  await Promise.all(sessions.map((session) => session.prefill()));
  return sessions;
}

async function disposeOthers(counts: readonly number[]): Promise<void> {
  for (const [count, sessions] of kept) {
    if (counts.includes(count)) continue;
    kept.delete(count);
    await Promise.all(sessions.map((session) => session.dispose()));
  }
}
