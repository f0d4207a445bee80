import type { CandidateProcessor } from './processor.ts';

const fround = Math.fround;

/**
 * Keeps the smallest prefix whose running weight reaches `topP` times the total weight of the candidates there are
 * (Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020). 0 keeps the best one.
 */
export function topP(mass: number): CandidateProcessor {
  const share = fround(mass);
  return {
    stage: 'candidates',
    name: 'topP',
    process(candidates) {
      const { length, weights } = candidates;
      const wanted = fround(share * candidates.totalWeight());
      let sum = 0;
      for (let i = 0; i < length; i++) {
        sum = fround(sum + weights[i]!);
        if (sum >= wanted) {
          candidates.truncate(i + 1);
          return;
        }
      }
    },
  };
}
