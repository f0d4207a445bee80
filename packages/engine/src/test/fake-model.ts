import { NoChatTemplateError } from '@hearth/chat-format';
import { numericsVersion } from '@hearth/core';
import type { ModelChatTemplate } from '../chat/render-chat.ts';
import { Model } from '../model/model.ts';
import { createSessionRuntime } from '../session/session-runtime.ts';
import { fakeTokens } from './byte-codec.ts';
import { FakeBackend, type FakeModelFunction } from './fake-backend.ts';
import { FakeChatTemplate } from './fake-chat-template.ts';
import { fakeHiddenSize, fakeProgram } from './fake-program.ts';
import { fakeRuntimeOptions } from './fake-sessions.ts';
import { FakeTokenizer } from './fake-tokenizer.ts';

export interface CreateFakeModelOptions {
  /** The token that follows a context. */
  readonly next: FakeModelFunction;
  /** Whether it has a chat template (ChatML). Default: true. */
  readonly hasChatTemplate?: boolean;
  /** A template instead of ChatML. The model disposes of it. */
  readonly chatTemplate?: ModelChatTemplate;
  /** Whether texts begin with BOS. Default: true. */
  readonly addsBos?: boolean;
  readonly contextLength?: number;
  /** Positions of the cache over all sessions. Default: `contextLength`. */
  readonly cacheTokens?: number;
  readonly maxTokensPerStep?: number;
  /** Requests that are taken beside the four that run at a time. Default: no limit. */
  readonly maxQueued?: number;
}

/**
 * A model that is a function from tokens to the next one: bytes for tokens, no files, no weights, no workers. For tests of
 * whatever uses a model (servers, command lines, proposers).
 */
export async function createFakeModel(
  options: CreateFakeModelOptions,
): Promise<{ model: Model; backend: FakeBackend; tokenizer: FakeTokenizer }> {
  const { contextLength = 256, maxTokensPerStep = 16, cacheTokens = contextLength, hasChatTemplate = true } = options;
  const { vocabSize } = fakeTokens;
  const blockSize = 16;
  const maxOutputRows = 4;
  const backend = new FakeBackend({ next: options.next });
  const tokenizer = new FakeTokenizer({ addsBos: options.addsBos ?? true });
  const weights = await backend.loadWeights([], new Map());
  const executable = await backend.compile(fakeProgram({ vocabSize, contextLength }), weights, {
    maxTokens: maxTokensPerStep,
    maxOutputRows,
    cache: { dtype: 'f16', blockSize, numBlocks: Math.ceil(cacheTokens / blockSize) },
  });
  const runtime = createSessionRuntime(executable, {
    contextLength,
    eosTokenIds: new Set(tokenizer.eosTokenIds),
    ...fakeRuntimeOptions({ maxTokensPerStep, maxOutputRows }),
    ...(options.maxQueued !== undefined && { maxQueued: options.maxQueued }),
    speculationTarget: { info: { vocabSize }, tokenizer },
    createDetokenizer: (keepSpecialTokens) =>
      tokenizer.createDetokenizer({ skipSpecialTokens: true, keepSpecialTokens }),
  });
  const model = new Model({
    info: {
      name: 'fake',
      path: '(memory)',
      format: 'safetensors',
      architecture: 'FakeForCausalLM',
      numParameters: 0,
      numLayers: 0,
      hiddenSize: fakeHiddenSize,
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
      weightsFromCache: false,
      sourceBytes: 0,
      cacheDtype: 'f16',
      kvBytesPerToken: executable.cache.bytesPerBlock / blockSize,
      kvBytes: executable.cache.numBlocks * executable.cache.bytesPerBlock,
      cacheTokens: executable.cache.numBlocks * blockSize,
      backend: backend.info,
    },
    tokenizer,
    chatFormat: hasChatTemplate
      ? { template: options.chatTemplate ?? new FakeChatTemplate(), problem: null }
      : { template: null, problem: new NoChatTemplateError('The fake model was made without a chat template.') },
    warnings: [],
    runtime,
    disposers: [() => executable.dispose(), () => weights.dispose(), () => backend.dispose()],
  });
  return { model, backend, tokenizer };
}
