import type { TokenLogprob } from '@hearth/sampler';
import type { SpeculationStats } from '@hearth/speculative';
import type { GenerateProfile } from '../profile/op-profiler.ts';

/** One token of a generation, as it came. */
export interface TextDelta {
  readonly type: 'text-delta';
  /**
   * The text that this token made safe to show. Empty while a character or a stop string may be unfinished, and for
   * special tokens, but for those of `showSpecialTokens`. The deltas of a generation joined are its text.
   */
  readonly text: string;
  readonly tokenId: number;
  /** 0 for the first token of the generation. */
  readonly index: number;
  /** Natural logarithm of the token's probability under the raw logits. Present when `logprobs` was asked for. */
  readonly logprob?: number;
  /** The most probable tokens, best first; as many as `logprobs` asked for. */
  readonly topLogprobs?: readonly TokenLogprob[];
}

/** What a generation yields. Only text for now; more types may come, so look at `type`. */
export type GenerateEvent = TextDelta;

/**
 * Why a generation ended. Every generation ends with one of these or with an error.
 *
 * - `stop`: the model gave an end-of-text token, or a stop string was completed
 * - `length`: `maxTokens` were made, or the context is full
 * - `cancelled`: the caller left the iteration or called `cancel()`
 */
export type FinishReason = 'stop' | 'length' | 'cancelled';

export interface GenerateResult {
  /** Everything before the stop string or end token. Never half a character. */
  readonly text: string;
  /** All tokens that were made, also the end token and the tokens of a stop string. */
  readonly tokenIds: readonly number[];
  readonly finishReason: FinishReason;
  /** The stop string that ended it. */
  readonly stopSequence?: string;
  /** The end token that ended it. */
  readonly stopTokenId?: number;
  /** By token, when asked for. */
  readonly logprobs?: readonly { readonly logprob: number; readonly topLogprobs: readonly TokenLogprob[] }[];
  readonly usage: GenerateUsage;
  readonly timings: GenerateTimings;
  /** When tokens were guessed ahead. */
  readonly speculation?: SpeculationStats;
  /** When asked for. */
  readonly profile?: GenerateProfile;
  /** The seed of the draws, also when it was drawn because none was given. With it the same text comes again. */
  readonly seed: bigint;
}

export interface GenerateUsage {
  /** Tokens in the session when the generation started. */
  readonly promptTokens: number;
  /** Of these, how many were not computed again. At most promptTokens − 1: the last one gives the first logits. */
  readonly cachedTokens: number;
  readonly completionTokens: number;
}

/** Milliseconds of wall time; waiting for a turn included. */
export interface GenerateTimings {
  /** From the call until the last prompt token was computed. */
  readonly prefillMs: number;
  /** From the call until the first token was chosen; null when there was none. */
  readonly firstTokenMs: number | null;
  /** From the first token to the last. */
  readonly decodeMs: number;
  readonly totalMs: number;
  /** Prompt tokens computed per second of prefill; null when there were none. */
  readonly prefillTokensPerSecond: number | null;
  /** Tokens after the first per second of decode; null with fewer than two tokens. */
  readonly tokensPerSecond: number | null;
}

/**
 * A running generation. It starts by itself and goes on whether or not it is iterated.
 *
 * Iterate it, once, for the tokens as they come: leaving the loop early stops the work. `result` resolves when it has
 * ended, and rejects when it was aborted by its signal, its session or model was disposed, or a step failed; the
 * iteration throws the same error. A rejection that nobody looks at is not an unhandled one.
 */
export interface Generation extends AsyncIterable<GenerateEvent> {
  readonly result: Promise<GenerateResult>;
  /** Stops the work; `result` then has what came so far, with the finish reason `cancelled`. Safe to call at any time. */
  cancel(): Promise<void>;
}
