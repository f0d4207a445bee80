/** What the parent asks a runner of this benchmark: some prompts at the same time, a sequence each. */
export interface ServingQuestion {
  /**
   * `output`: fresh sequences, from the prompts to the last token. `decode`: the prompts are computed before the clock runs,
   * and stay in the cache for the next question with the same ones.
   */
  readonly kind: ServingPhase;
  readonly prompts: readonly (readonly number[])[];
  /** Greedy tokens that each sequence makes; its end of text is one of them and ends nothing. */
  readonly numTokens: number;
  /** Peer only: which of its two ways to attend. */
  readonly flashAttention?: boolean;
}

export type ServingPhase = 'output' | 'decode';

export interface ServingAnswer {
  /** When each token came to JavaScript, [sequence][token], in milliseconds since the clock ran. */
  readonly tokenMs: readonly (readonly number[])[];
}

/** Tokens of a prompt. */
export const promptTokens = 256;
/** Tokens that are made in the phase `output`. */
export const outputTokens = 64;
/** Tokens after the first in the phase `decode`. */
export const decodedTokens = 32;
/** Positions of a sequence. */
export const contextLength = 384;

/** The time of each event of an iteration, in milliseconds since `begin`; of the first `count` ones when it would go on. */
export async function timesOf(events: AsyncIterable<unknown>, begin: number, count = Infinity): Promise<number[]> {
  const times: number[] = [];
  for await (const _ of events) {
    times.push(performance.now() - begin);
    if (times.length === count) break;
  }
  return times;
}
