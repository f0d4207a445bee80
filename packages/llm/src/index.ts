export type { ChatMessage } from '@hearth/chat-format';
export { NoChatTemplateError, TemplateError } from '@hearth/chat-format';
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
  CacheExhaustedError,
  type ChatOptions,
  type ComposeOptions,
  type CreateSessionOptions,
  chat,
  compose,
  DeadlineError,
  type EmbedOptions,
  type FinishReason,
  type GenerateEvent,
  type GenerateOptions,
  type GenerateResult,
  type GenerateTimings,
  type GenerateUsage,
  type Generation,
  type Model,
  type ModelInfo,
  type ModelStats,
  type PerplexityOptions,
  type PerplexityProgress,
  type PerplexityResult,
  type PrefillResult,
  perplexity,
  QueueFullError,
  type RenderChatOptions,
  type RowScores,
  type ScoreOptions,
  type Session,
  SessionBusyError,
  SessionFileError,
} from '@hearth/engine';
export { ModelNotFoundError } from '@hearth/hub';
export { createTokenMask, NoTokenAllowedError, type SamplingParams, type TokenMask } from '@hearth/sampler';
export {
  type DraftModel,
  draftModel,
  type GateOptions,
  type PromptLookupOptions,
  type Proposer,
  type ProposerStats,
  promptLookup,
  type SequenceProposer,
  type SpeculationOptions,
  type SpeculationStats,
  VocabularyMismatchError,
} from '@hearth/speculative';
export { createDefaultBackend } from './default-backend.ts';
export { type LoadModelOptions, type LoadProgress, loadModel } from './load-model.ts';
