import type { SampleRow } from '@hearth/core';
import type { SequenceStep } from '../step/build-batch.ts';
import { PreemptedError, type RunOptions, type StepLoop } from '../step/step-loop.ts';
import type { Sequence } from './sequence.ts';

export interface ComputeOptions extends RunOptions {
  /** Most tokens in one step: between two of them, other sequences get their turn and the signal is looked at. */
  readonly chunkTokens: number;
  /** Compute the first tokens only. Default: all. */
  readonly upTo?: number;
  /** Choose a token from the logits of the last one, within the step; `onSampled` receives it. */
  readonly sample?: SampleRow;
}

/**
 * Runs every token of a sequence that is not in the cache yet: a whole prompt in chunks, the one token that was sampled
 * last, or all of them again after the sequence lost its blocks. `onLogits` or `onSampled` receives what comes of the last token
 * alone. Tokens of chunks that were done stay in the cache when a later one fails.
 */
export async function computeUncached(loop: StepLoop, sequence: Sequence, options: ComputeOptions): Promise<void> {
  const { chunkTokens, onLogits, sample, onSampled, upTo = sequence.length, ...runOptions } = options;
  const receivers = { ...(onLogits && { onLogits }), ...(onSampled && { onSampled }) };
  while (sequence.numCachedTokens < upTo) {
    const remaining = upTo - sequence.numCachedTokens;
    const numTokens = Math.min(chunkTokens, remaining);
    if (numTokens === remaining && (sample || onLogits)) {
      const step: SequenceStep = { sequence, numTokens, outputs: 'last', ...(sample && { sample }) };
      await runStep(loop, step, { ...runOptions, ...receivers });
    } else {
      await runStep(loop, { sequence, numTokens, outputs: 'none' }, runOptions);
    }
  }
}

/** Runs one step. False when it did not run because the sequence lost its blocks: nothing of it is in the cache then. */
export async function runStep(loop: StepLoop, step: SequenceStep, options: RunOptions): Promise<boolean> {
  try {
    await loop.run(step, options);
    return true;
  } catch (error) {
    if (error instanceof PreemptedError) return false;
    throw error;
  }
}
