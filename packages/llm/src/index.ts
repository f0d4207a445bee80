export type { ChatMessage } from '@hearth/chat-format';
export type { Backend, PackedCacheOptions } from '@hearth/core';
export {
  AbortError,
  ContextLengthError,
  DisposedError,
  HearthError,
  InvalidArgumentError,
  InvalidModelError,
  LimitExceededError,
  NumericError,
  UnsupportedError,
} from '@hearth/core';
export {
  AnchorError,
  type ChatOptions,
  type CreateSessionOptions,
  chat,
  type FinishReason,
  type GenerateEvent,
  type GenerateOptions,
  type GenerateResult,
  type Generation,
  type Model,
  type ModelInfo,
  type PerplexityOptions,
  type PerplexityProgress,
  type PerplexityResult,
  perplexity,
  type RenderChatOptions,
  type Session,
  SessionBusyError,
} from '@hearth/engine';
export { createDefaultBackend } from './default-backend.ts';
export { type LoadModelOptions, type LoadProgress, loadModel } from './load-model.ts';
