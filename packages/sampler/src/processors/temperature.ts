import { exp32 } from '@hearth/core';
import type { CandidateProcessor } from './processor.ts';

const fround = Math.fround;
const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

/**
 * Below it, sampling is greedy. Two logits of magnitude 1 or more that differ at all differ by 2^-23 or more. Divided by
 * this they are 128 apart, where exp32 gives the lower one weight 0: only exact ties are left, and those go to the lower id.
 */
export const GREEDY_TEMPERATURE = 2 ** -30;

/**
 * A scaled logit below this is dropped by `temperature` whatever the other candidates are, so it need not be ordered. Its
 * weight is below exp(-17.6) = 2.3e-8; the running sum starts at exp(0) = 1, and a summand below 2^-24 = 6.0e-8 leaves it.
 */
export const NEGLIGIBLE_SCALED_LOGIT = -17.6;

/** The divisor: `temperature` in f32, with the largest float in place of an infinity so that no quotient is NaN. */
export function temperatureDivisor(temperature: number): number {
  return Math.min(fround(temperature), LARGEST_FLOAT);
}

/**
 * Gives every candidate its scaled logit and weight:
 * `scaledLogit = fround(fround(logit - best) / temperature)` and `weight = exp32(scaledLogit)`.
 *
 * Subtracting first keeps small temperatures from overflowing: the best one has exactly 0 and weight 1, the others at
 * worst -Infinity and weight 0. The order of candidates does not change, because division does not change it.
 *
 * The list ends before the first candidate whose weight does not raise the running f32 sum. Weights never rise along the
 * list, so none of those after it raises the sum either, and a candidate that does not raise the sum can never be the
 * one at which it passes the drawn value. For the draw, top-p and min-p this is no approximation; for typical-p, which
 * goes through the list in another order, it is part of the definition.
 */
export function temperature(value: number): CandidateProcessor {
  const divisor = temperatureDivisor(value);
  return {
    stage: 'candidates',
    name: 'temperature',
    process(candidates) {
      const { length, logits, scaledLogits, weights } = candidates;
      const best = logits[0]!;
      let sum = 0;
      for (let i = 0; i < length; i++) {
        const difference = fround(logits[i]! - best);
        const scaledLogit = fround(difference / divisor);
        const weight = exp32(scaledLogit);
        const raised = fround(sum + weight);
        if (raised === sum) {
          candidates.truncate(i);
          return;
        }
        sum = raised;
        scaledLogits[i] = scaledLogit;
        weights[i] = weight;
      }
    },
  };
}
