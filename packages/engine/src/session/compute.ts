import type { RunOptions, StepLoop } from '../step/step-loop.ts';
import type { Sequence } from './sequence.ts';

export interface ComputeOptions extends RunOptions {
  /** Most tokens in one step: between two of them, other sequences get their turn and the signal is looked at. */
  readonly chunkTokens: number;
}

/**
 * Runs every token of a sequence that is not in the cache yet: a whole prompt in chunks, or the one token that was
 * sampled last. `onLogits` receives those of the last token alone. Tokens of chunks that were done stay in the cache when a later one fails.
 */
export async function computeUncached(loop: StepLoop, sequence: Sequence, options: ComputeOptions): Promise<void> {
  const { chunkTokens, onLogits, ...runOptions } = options;
  while (sequence.numCachedTokens < sequence.length) {
    const remaining = sequence.length - sequence.numCachedTokens;
    const numTokens = Math.min(chunkTokens, remaining);
    if (onLogits && numTokens === remaining) {
      await loop.run({ sequence, numTokens, outputs: 'last' }, { ...runOptions, onLogits });
    } else {
      await loop.run({ sequence, numTokens, outputs: 'none' }, runOptions);
    }
  }
}
