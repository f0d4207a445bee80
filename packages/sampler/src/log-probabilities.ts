import { exp32, log32 } from '@hearth/core';

const fround = Math.fround;

/** What turns a logit of this row into its log-probability: `fround(fround(logit - max) - logSum)`. */
export interface LogNormalizer {
  readonly max: number;
  readonly logSum: number;
}

/**
 * Normalizer of the log-softmax of a row: the greatest logit, and log32 of the sum of exp32(logit - max).
 *
 * The sum is in the contract's order of eight lanes: lane r adds elements r, r + 8, r + 16, … ascending, then one tree,
 * s_i = l_i + l_(i+4), t_j = s_j + s_(j+2), t_0 + t_1, f32 after each addition.
 *
 * @param logits [vocabSize], all finite, at least one
 */
export function logNormalizer(logits: Float32Array): LogNormalizer {
  const numLogits = logits.length;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < numLogits; i++) {
    const logit = logits[i]!;
    if (logit > max) max = logit;
  }
  const lanes = new Float32Array(8);
  for (let i = 0; i < numLogits; i++) lanes[i & 7]! += exp32(fround(logits[i]! - max));
  const [l0, l1, l2, l3, l4, l5, l6, l7] = lanes as unknown as Lanes;
  const s0 = fround(l0 + l4);
  const s1 = fround(l1 + l5);
  const s2 = fround(l2 + l6);
  const s3 = fround(l3 + l7);
  const t0 = fround(s0 + s2);
  const t1 = fround(s1 + s3);
  return { max, logSum: log32(fround(t0 + t1)) };
}

type Lanes = [number, number, number, number, number, number, number, number];

/** Log-probability (natural logarithm, f32) of one logit of the row. -Infinity only where logits are 3.4e38 apart. */
export function logProbability(logit: number, { max, logSum }: LogNormalizer): number {
  return fround(fround(logit - max) - logSum);
}
