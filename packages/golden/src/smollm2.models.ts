// Long runs of the real model on the TypeScript reference, and longer agreement between the backends. Not in CI:
// `pnpm test:models`; its output is kept in docs/test-models.md.
import { openCheckpoint } from '@hearth/checkpoint';
import type { Backend } from '@hearth/core';
import { loadModel } from '@hearth/engine';
import { resolveModel } from '@hearth/hub';
import { createCpuBackend } from '@hearth/kernels';
import { createReferenceBackend } from '@hearth/reference';
import { afterAll, describe, expect, it } from 'vitest';
import { describeReport } from './describe-report.ts';
import { findGoldens } from './find-goldens.ts';
import { replayGoldens } from './replay.ts';

const { path } = await resolveModel('smollm2:135m');
const native = await createCpuBackend();
const reference = createReferenceBackend();
afterAll(async () => {
  await native.dispose();
  await reference.dispose();
});

describe('SmolLM2-135M-Instruct, long runs', () => {
  it.each(['float32', 'bfloat16'] as const)(
    '%s on the reference: boundaries and all greedy tokens',
    async (weights) => {
      const checkpoint = await openCheckpoint(path);
      const goldens = await findGoldens(checkpoint);
      const report = await replayGoldens({ checkpoint, backend: reference, goldens: goldens!, weights });
      await checkpoint.close();
      console.info(describeReport(report).join('\n'));
      expect(report.passed).toBe(true);
    },
  );

  it('as stored: 64 tokens after 100 of prompt are the same on both backends', async () => {
    expect(await longRun(reference)).toEqual(await longRun(native));
  });
});

/** Greedy tokens and their log-probabilities, which show any difference in the bits that tokens would hide. */
async function longRun(backend: Backend) {
  const model = await loadModel(path, { backend, contextLength: 256 });
  const tokenIds = Array.from({ length: 100 }, (_, i) => 3 + ((i * 7919) % 40_000));
  const { result } = model.createSession({ tokenIds }).generate({
    maxTokens: 64,
    temperature: 0,
    ignoreEos: true,
    logprobs: 5,
  });
  const { tokenIds: made, logprobs } = await result;
  await model.dispose();
  return { made, logprobs };
}
