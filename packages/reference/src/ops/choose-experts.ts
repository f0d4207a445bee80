import { exp32 } from '@hearth/core';
import type { Rows } from '../rows.ts';
import { numLanes, sumLanes } from './row-sum.ts';

const fround = Math.fround;

/** One of the experts that a row goes to, and what its output is multiplied with. */
export interface Choice {
  readonly expert: number;
  readonly weight: number;
}

/**
 * The experts of the `count` largest logits of one row, the lower id first where two are equal, in ascending id. Their
 * weights are the softmax over all experts, exp(logit − max) / Σ exp(logit − max), the sum a row sum; with `normalize` they
 * are then divided by their own sum, which is taken from the largest logit down.
 *
 * @param logits row `row` of [numRows, numExperts]
 */
export function chooseExperts(logits: Rows, row: number, count: number, normalize: boolean): Choice[] {
  const start = logits.offset + row * logits.stride;
  const values = logits.data.subarray(start, start + logits.width);
  const ids = [...values.keys()].sort((a, b) => values[b]! - values[a]! || a - b);
  const max = values[ids[0]!]!;
  const exponentials = values.map((logit) => exp32(fround(logit - max)));
  const lanes = new Float32Array(numLanes);
  for (const [id, value] of exponentials.entries()) lanes[id % numLanes] = lanes[id % numLanes]! + value;
  const total = sumLanes(lanes);

  const best = ids.slice(0, count).map((expert) => ({ expert, weight: fround(exponentials[expert]! / total) }));
  if (!normalize) return best.sort((a, b) => a.expert - b.expert);
  const chosenTotal = best.reduce((sum, { weight }) => fround(sum + weight), 0);
  return best
    .map(({ expert, weight }) => ({ expert, weight: fround(weight / chosenTotal) }))
    .sort((a, b) => a.expert - b.expert);
}
