import type { SampleRow } from '@hearth/core';

/** How to choose tokens. Every field is optional; the defaults sample from the model's own distribution. */
export interface SamplingParams {
  /** At least 0. Divides the logits; 0, and anything below 2^-30, picks the best token (greedy). Default 1. */
  readonly temperature?: number | undefined;
  /** Keep the `topK` best tokens. 0 or -1: no limit. Default 0. */
  readonly topK?: number | undefined;
  /** 0 to 1. Keep the fewest best tokens whose probabilities reach `topP`; 0 keeps one. Default 1: off. */
  readonly topP?: number | undefined;
  /** 0 to 1. Drop tokens less probable than `minP` times the best one. Default 0: off. */
  readonly minP?: number | undefined;
  /**
   * 0 to 1. Keep the fewest tokens, those of most typical information content first, whose probabilities reach
   * `typicalP` (Meister et al., "Locally Typical Sampling", 2022). Default 1: off.
   */
  readonly typicalP?: number | undefined;
  /**
   * Above 0. Positive logits of tokens in the window are divided by it, others multiplied (Keskar et al., CTRL, 2019).
   * Prompt and completion count. Default 1: off.
   */
  readonly repetitionPenalty?: number | undefined;
  /** How many of the last tokens `repetitionPenalty` looks at. 0: none. Default -1: all. */
  readonly repetitionWindow?: number | undefined;
  /** -2 to 2. Subtracted from a token's logit once for each time it is in the completion. Default 0: off. */
  readonly frequencyPenalty?: number | undefined;
  /** -2 to 2. Subtracted from the logits of tokens that are in the completion. Default 0: off. */
  readonly presencePenalty?: number | undefined;
  /** Token id to a value from -100 to 100 that is added to its logit. -100 makes a token all but impossible; a mask bans it. */
  readonly logitBias?: ReadonlyMap<number, number> | Readonly<Record<string, number>> | undefined;
  /**
   * 64 bits: an integer from -2^63 to 2^64 - 1, taken modulo 2^64 (-1 is 2^64 - 1). Numbers must be safe integers; use
   * a bigint beyond 2^53. Undefined: a random one is drawn and reported as `sampler.seed`.
   */
  readonly seed?: bigint | number | undefined;
  /** Which of several completions of one request this is: the same seed then gives each of them draws of its own. Default 0. */
  readonly choiceIndex?: number | undefined;
  /** 0 to 20: report the log-probability of the chosen token and of this many best tokens. Undefined: report none. */
  readonly logprobs?: number | undefined;
}

/** `SamplingParams` after validation, with every default filled in: the part of a `SampleRow` that no token changes. */
export interface ResolvedSamplingParams extends Omit<SampleRow, 'promptTokenIds' | 'completionTokenIds' | 'mask'> {
  readonly logprobs: number | undefined;
}
