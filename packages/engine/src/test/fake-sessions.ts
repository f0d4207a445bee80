import { createSessionRuntime, type SessionRuntime, type SessionRuntimeOptions } from '../session/session-runtime.ts';
import { ByteDetokenizer, fakeTokens } from './byte-codec.ts';
import { FakeBackend, type FakeModelFunction } from './fake-backend.ts';
import { fakeProgram } from './fake-program.ts';

export interface FakeSessionsOptions
  extends Partial<Omit<SessionRuntimeOptions, 'createDetokenizer' | 'eosTokenIds' | 'weightDtypes' | 'samplesInStep'>> {
  readonly next: FakeModelFunction;
  readonly numBlocks?: number;
  readonly numGroups?: number;
  readonly canSampleInStep?: boolean;
}

/** Positions of a block. */
const fakeBlockSize = 16;

/** A runtime for sessions over the fake backend, without a model around it. */
export async function fakeSessions(
  options: FakeSessionsOptions,
): Promise<{ backend: FakeBackend; runtime: SessionRuntime }> {
  const { next, numGroups = 1, canSampleInStep = false, ...runtimeOptions } = options;
  const { contextLength = 128, maxTokensPerStep = 8, maxOutputRows = 4 } = options;
  const { numBlocks = contextLength / fakeBlockSize } = options;
  const backend = new FakeBackend({ next, canSampleInStep });
  const weights = await backend.loadWeights([], new Map());
  const program = fakeProgram({ vocabSize: fakeTokens.vocabSize, contextLength, numGroups });
  const executable = await backend.compile(program, weights, {
    maxTokens: maxTokensPerStep,
    maxOutputRows,
    cache: { dtype: 'f16', blockSize: fakeBlockSize, numBlocks },
  });
  const runtime = createSessionRuntime(executable, {
    contextLength,
    eosTokenIds: new Set([fakeTokens.eos]),
    ...fakeRuntimeOptions({ maxTokensPerStep, maxOutputRows }),
    samplesInStep: canSampleInStep,
    createDetokenizer: (shown) => new ByteDetokenizer(shown),
    ...runtimeOptions,
  });
  return { backend, runtime };
}

/** What a loaded model would have for options that nobody has set, but that everything is checked. */
export function fakeRuntimeOptions(limits: { readonly maxTokensPerStep: number; readonly maxOutputRows: number }) {
  return {
    ...limits,
    fingerprint: 'fake',
    maxSequences: Math.min(limits.maxTokensPerStep, limits.maxOutputRows),
    maxQueued: Number.POSITIVE_INFINITY,
    // Chunks are as large as a step, whatever the time: tests count them.
    prefillTimeMs: Number.POSITIVE_INFINITY,
    prefixCache: true,
    loop: 'overlapped',
    checkIntegrity: true,
    speculation: undefined,
    speculationTarget: undefined,
    weightDtypes: [],
    samplesInStep: false,
  } as const;
}
