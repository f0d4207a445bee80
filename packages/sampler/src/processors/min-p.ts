import type { CandidateProcessor } from './processor.ts';

const fround = Math.fround;

/**
 * Keeps the prefix of candidates whose weight is at least `minP` times that of the best one left (Nguyen et al., "Turning
 * Up the Heat: Min-p Sampling", 2024). 1 keeps the best one and its exact ties.
 */
export function minP(share: number): CandidateProcessor {
  const factor = fround(share);
  return {
    stage: 'candidates',
    name: 'minP',
    process(candidates) {
      const { length, weights } = candidates;
      const least = fround(factor * weights[0]!);
      let kept = 1;
      while (kept < length && weights[kept]! >= least) kept++;
      candidates.truncate(kept);
    },
  };
}
