import type { GenerateResult } from '@hearth/engine';
import { leastLogprob } from './legacy-logprobs.ts';

/**
 * The texts whose tokens are the most probable, by the mean of their log-probabilities, best first. When none is left over they
 * stay as they are.
 */
export function bestOf<Result extends Pick<GenerateResult, 'logprobs'>>(
  results: readonly Result[],
  count: number,
): Result[] {
  if (count >= results.length) return [...results];
  return results
    .map((result) => ({ result, mean: meanLogprob(result) }))
    .sort((a, b) => b.mean - a.mean)
    .slice(0, count)
    .map(({ result }) => result);
}

/** Of no tokens it is that of a certain one. */
function meanLogprob({ logprobs = [] }: Pick<GenerateResult, 'logprobs'>): number {
  if (logprobs.length === 0) return 0;
  return logprobs.reduce((sum, { logprob }) => sum + Math.max(logprob, leastLogprob), 0) / logprobs.length;
}
