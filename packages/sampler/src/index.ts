export type { SampleRow, TokenMask } from '@hearth/core';
export type { Candidates } from './candidates/candidates.ts';
export { NoTokenAllowedError } from './no-token-allowed-error.ts';
export { resolveSamplingParams } from './params/resolve-sampling-params.ts';
export type { ResolvedSamplingParams, SamplingParams } from './params/sampling-params.ts';
export type {
  CandidateProcessor,
  LogitProcessor,
  Processor,
  SamplingContext,
  SamplingHistory,
} from './processors/processor.ts';
export { checkTokenMask, createTokenMask } from './processors/token-mask.ts';
export { type RowLogprobs, rowLogprobs, type TokenLogprob } from './row-logprobs.ts';
export { sampleFromRow } from './sample-row.ts';
export {
  createSampler,
  type Sample,
  type SampleOptions,
  Sampler,
  type SamplerOptions,
} from './sampler.ts';
