import { log32 } from '@hearth/core';
import { radixSort } from '../candidates/radix-sort.ts';
import type { CandidateProcessor } from './processor.ts';

const fround = Math.fround;

/**
 * Keeps the fewest candidates, those whose information content -log p lies nearest to its mean (the entropy) first, whose
 * running weight reaches `typicalP` times the total (Meister et al., "Locally Typical Sampling", 2022). Equal distances
 * go by candidate order. What is kept stays in candidate order. The best candidate may be dropped: that is the point.
 *
 * f32 throughout, in candidate order: p = weight / total, logP = scaledLogit - log32(total), entropy = sum of -(p * logP).
 */
export function typicalP(mass: number): CandidateProcessor {
  const share = fround(mass);
  return {
    stage: 'candidates',
    name: 'typicalP',
    process(candidates) {
      const { length, scaledLogits, weights } = candidates;
      const total = candidates.totalWeight();
      const logTotal = log32(total);
      let entropy = 0;
      for (let i = 0; i < length; i++) {
        const probability = fround(weights[i]! / total);
        const logProbability = fround(scaledLogits[i]! - logTotal);
        entropy = fround(entropy - fround(probability * logProbability));
      }

      const distances = new Float32Array(length);
      const positions = new Uint32Array(length);
      for (let i = 0; i < length; i++) {
        const logProbability = fround(scaledLogits[i]! - logTotal);
        distances[i] = Math.abs(fround(-logProbability - entropy));
        positions[i] = i;
      }
      // Floats that are not negative have the order of their bits.
      radixSort(new Uint32Array(distances.buffer), positions, length);

      const wanted = fround(share * total);
      const isKept = new Uint8Array(length);
      let sum = 0;
      for (const position of positions) {
        isKept[position] = 1;
        sum = fround(sum + weights[position]!);
        if (sum >= wanted) break;
      }
      candidates.keep((position) => isKept[position] === 1);
    },
  };
}
