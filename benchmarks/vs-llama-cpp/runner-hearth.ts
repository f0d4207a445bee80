// Hearth as a runner: see protocol.ts.
import { loadModel, type Session } from '@hearth/engine';
import { createCpuBackend } from '@hearth/kernels';
import { serve, settings } from './protocol.ts';

const { modelPath, numThreads, contextLength } = settings();

const start = performance.now();
const backend = await createCpuBackend({ numThreads });
const model = await loadModel(modelPath, { backend, contextLength, maxTokensPerStep: 512 });
const { variant } = model.info.backend;
const ready = { ready: true, loadMs: performance.now() - start, description: `hearth ${variant}` } as const;

serve(ready, async ({ kind, tokenIds, ...question }) => {
  const session = model.createSession({ tokenIds });
  try {
    const numTokens = 'numTokens' in question ? question.numTokens : 0;
    const { firstTokenMs, decodeMs } = await timings(session, numTokens + 1);
    return kind === 'prefill' ? firstTokenMs! : decodeMs;
  } finally {
    await session.dispose();
  }
});

async function timings(session: Session, maxTokens: number) {
  const { result } = session.generate({ maxTokens, temperature: 0, ignoreEos: true });
  return (await result).timings;
}
