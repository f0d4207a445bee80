import { createSessionRuntime, type SessionRuntime } from '../session/session-runtime.ts';
import { ByteDetokenizer, fakeTokens } from './byte-codec.ts';
import { FakeBackend, type FakeModelFunction } from './fake-backend.ts';
import { fakeProgram } from './fake-program.ts';

export interface FakeSessionsOptions {
  readonly next: FakeModelFunction;
  readonly contextLength?: number;
  readonly numBlocks?: number;
  readonly chunkTokens?: number;
  readonly maxOutputRows?: number;
  readonly numGroups?: number;
}

/** A runtime for sessions over the fake backend, without a model around it. */
export async function fakeSessions(
  options: FakeSessionsOptions,
): Promise<{ backend: FakeBackend; runtime: SessionRuntime }> {
  const { contextLength = 128, chunkTokens = 8, maxOutputRows = 4, numGroups = 1 } = options;
  const numBlocks = options.numBlocks ?? (contextLength / 16) * numGroups;
  const backend = new FakeBackend({ next: options.next });
  const weights = await backend.loadWeights([], new Map());
  const program = fakeProgram({ vocabSize: fakeTokens.vocabSize, contextLength, numGroups });
  const executable = await backend.compile(program, weights, {
    maxTokens: chunkTokens,
    maxOutputRows,
    cache: { dtype: 'f16', blockSize: 16, numBlocks },
  });
  const runtime = createSessionRuntime(executable, {
    contextLength,
    eosTokenIds: new Set([fakeTokens.eos]),
    chunkTokens,
    maxOutputRows,
    weightDtypes: [],
    samplesInStep: backend.info.canSampleInStep,
    createDetokenizer: () => new ByteDetokenizer(),
  });
  return { backend, runtime };
}
