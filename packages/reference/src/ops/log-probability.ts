import { exp32, log32 } from '@hearth/core';
import { numLanes, sumLanes } from './row-sum.ts';

const fround = Math.fround;

/**
 * argmax(logits), and log softmax(logits)[tokenId] = (logit − max) − log(Σ exp(logit − max)), the sum a row sum
 *
 * logits [vocabSize]. Of equal logits the lower id is the argmax.
 */
export function logProbability(logits: Float32Array, tokenId: number): { logprob: number; argmax: number } {
  let argmax = 0;
  for (let id = 1; id < logits.length; id++) {
    if (logits[id]! > logits[argmax]!) argmax = id;
  }
  const max = logits[argmax]!;
  const lanes = new Float32Array(numLanes);
  for (let id = 0; id < logits.length; id++) {
    lanes[id % numLanes] = lanes[id % numLanes]! + exp32(fround(logits[id]! - max));
  }
  const logprob = fround(fround(logits[tokenId]! - max) - log32(sumLanes(lanes)));
  return { logprob, argmax };
}
