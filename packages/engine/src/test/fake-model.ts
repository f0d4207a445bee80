import { numericsVersion } from '@hearth/core';
import type { ModelChatTemplate } from '../chat/render-chat.ts';
import { Model } from '../model/model.ts';
import { createSessionRuntime } from '../session/session-runtime.ts';
import { fakeTokens } from './byte-codec.ts';
import { FakeBackend, type FakeModelFunction } from './fake-backend.ts';
import { fakeProgram } from './fake-program.ts';
import { FakeTokenizer } from './fake-tokenizer.ts';

export interface CreateFakeModelOptions {
  /** The token that follows a context. */
  readonly next: FakeModelFunction;
  readonly chatTemplate?: ModelChatTemplate | null;
  readonly contextLength?: number;
  /** Positions of the cache over all sessions. Default: `contextLength`. */
  readonly cacheTokens?: number;
  readonly maxTokensPerStep?: number;
}

/**
 * A model that is a function from tokens to the next one: bytes for tokens, no files, no weights, no workers. For tests of
 * whatever uses a model (servers, command lines, proposers).
 */
export async function createFakeModel(
  options: CreateFakeModelOptions,
): Promise<{ model: Model; backend: FakeBackend; tokenizer: FakeTokenizer }> {
  const { contextLength = 256, maxTokensPerStep = 16, cacheTokens = contextLength, chatTemplate = null } = options;
  const { vocabSize } = fakeTokens;
  const blockSize = 16;
  const backend = new FakeBackend({ next: options.next });
  const tokenizer = new FakeTokenizer();
  const weights = await backend.loadWeights([], new Map());
  const executable = await backend.compile(fakeProgram({ vocabSize, contextLength }), weights, {
    maxTokens: maxTokensPerStep,
    maxOutputRows: 4,
    cache: { dtype: 'f16', blockSize, numBlocks: Math.ceil(cacheTokens / blockSize) },
  });
  const runtime = createSessionRuntime(executable, {
    contextLength,
    eosTokenIds: new Set(tokenizer.eosTokenIds),
    chunkTokens: maxTokensPerStep,
    maxOutputRows: 4,
    createDetokenizer: () => tokenizer.createDetokenizer(),
  });
  const model = new Model({
    info: {
      name: 'fake',
      path: '(memory)',
      format: 'safetensors',
      architecture: 'FakeForCausalLM',
      numParameters: 0,
      numLayers: 0,
      hiddenSize: 1,
      numHeads: 1,
      numKvHeads: 1,
      headDim: 1,
      vocabSize,
      maxContextLength: contextLength,
      contextLength,
      weightDtypes: {},
      fileBytes: 0,
      fingerprint: 'fake',
      numericsVersion,
      packedBytes: 0,
      sourceBytes: 0,
      cacheDtype: 'f16',
      kvBytesPerToken: executable.cache.bytesPerBlock / blockSize,
      kvBytes: executable.cache.numBlocks * executable.cache.bytesPerBlock,
      cacheTokens: executable.cache.numBlocks * blockSize,
      backend: backend.info,
    },
    tokenizer,
    chatTemplate,
    runtime,
    disposers: [() => executable.dispose(), () => weights.dispose(), () => backend.dispose()],
  });
  return { model, backend, tokenizer };
}
