import type { TokenMask } from '@hearth/core';
import type { Candidates } from '../candidates/candidates.ts';

/** The tokens of the sequence so far. Nothing else of the past has any influence on the next sample. */
export interface SamplingHistory {
  readonly promptTokenIds: ArrayLike<number>;
  readonly completionTokenIds: ArrayLike<number>;
}

/** What processors may look at besides the logits. */
export interface SamplingContext extends SamplingHistory {
  readonly mask: TokenMask | undefined;
}

/** Changes scores, knowing all of them. */
export interface LogitProcessor {
  readonly stage: 'logits';
  /** For error messages. */
  readonly name: string;
  /**
   * @param logits [vocabSize], a copy to change in place. -Infinity bans a token. NaN and +Infinity are refused.
   */
  process(logits: Float32Array, context: SamplingContext): void;
}

/** Drops candidates, knowing their order and probabilities. */
export interface CandidateProcessor {
  readonly stage: 'candidates';
  /** For error messages. */
  readonly name: string;
  /** @param candidates best first; drop some of them with its methods, at least one stays */
  process(candidates: Candidates, context: SamplingContext): void;
}

/** One step between logits and token. `order.ts` says who comes when. */
export type Processor = LogitProcessor | CandidateProcessor;
