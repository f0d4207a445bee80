export { type ChatOptions, chat } from './chat/chat.ts';
export { type ComposeOptions, compose } from './chat/compose.ts';
export type { ModelChatTemplate, RenderChatOptions } from './chat/render-chat.ts';
export {
  AnchorError,
  CacheExhaustedError,
  DeadlineError,
  QueueFullError,
  SessionBusyError,
  SessionFileError,
} from './errors.ts';
export {
  type PerplexityOptions,
  type PerplexityProgress,
  type PerplexityResult,
  perplexity,
} from './evaluate/perplexity.ts';
export type { GenerateOptions, TokenConstraint } from './generate/generate-options.ts';
export type {
  FinishReason,
  GenerateEvent,
  GenerateResult,
  GenerateTimings,
  GenerateUsage,
  Generation,
  TextDelta,
} from './generate/generation.ts';
export { loadModel } from './model/load-model.ts';
export {
  checkLoadModelOptionNames,
  type LoadModelOptions,
  type LoadWeightsOptions,
  type ModelLimits,
  type PrepareModelOptions,
} from './model/load-options.ts';
export type { Model, ModelTokenizer } from './model/model.ts';
export type { ModelHeader, ModelInfo } from './model/model-info.ts';
export type { ModelStats } from './model/model-stats.ts';
export { prepareModel } from './model/prepare-model.ts';
export type { PreparedModel } from './model/prepared-model.ts';
export type { LoadProgress } from './model/progress.ts';
export type { GenerateProfile, OpProfile } from './profile/op-profiler.ts';
export { type OpWork, opWork, type StepShape, type StorageTypes, sumWork } from './profile/op-work.ts';
export { leastSeconds, type RooflineCeilings } from './profile/roofline.ts';
export { commonPrefixLength } from './session/common-prefix.ts';
export type { EmbedOptions } from './session/embed-tokens.ts';
export type { RowScores, ScoreOptions } from './session/evaluate-rows.ts';
export type { CreateSessionOptions, PrefillResult, Session } from './session/session.ts';
export type { RequestOptions } from './session/work.ts';
export type { StepTotals } from './step/step-statistics.ts';
export type { LoopKind } from './step/task-loop.ts';
