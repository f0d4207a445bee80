// Hearth as a runner: see protocol.ts.
import { loadModel, type Session } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { serve, settings } from './protocol.ts';

const { modelPath, numThreads, contextLength } = settings();

const start = performance.now();
const backend = await createCpuBackend({ numThreads });
// A prompt is asked for in every round, and is to be computed in every round.
const model = await loadModel(modelPath, {
  backend,
  contextLength,
  cacheDtype: 'f16',
  maxTokensPerStep: 512,
  prefixCache: false,
});
const { variant } = model.info.backend;
const ready = { ready: true, loadMs: performance.now() - start, description: `variant ${variant}` } as const;

/** Its prompt stays in the cache for the next round of decoding behind it. */
let session: Session | undefined;

serve(ready, async ({ kind, tokenIds, ...question }) => {
  if (kind === 'prefill' || !session) {
    await session?.dispose();
    session = model.createSession({ tokenIds });
  } else {
    session.replaceTokens(tokenIds);
  }
  const numTokens = 'numTokens' in question ? question.numTokens : 0;
  const { result } = session.generate({ maxTokens: numTokens + 1, temperature: 0, ignoreEos: true });
  const { firstTokenMs, decodeMs } = (await result).timings;
  return { milliseconds: kind === 'prefill' ? firstTokenMs! : decodeMs };
});
