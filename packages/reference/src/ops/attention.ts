import { exp32, fma32 } from '@hearth/core';
import { numLanes, sumLanes } from './row-sum.ts';
import { softcapped } from './softcap.ts';

const fround = Math.fround;

/** Positions whose scores share one maximum. Tiles are aligned at position 0, whatever the block size. */
const tilePositions = 64;
/** Tiles that are walked with one running state before it is merged. */
const groupTiles = 8;

/** Running softmax of one query head: the largest score, the sum of exponentials, and the weighted sum of values. */
interface SoftmaxState {
  max: number;
  sum: number;
  /** [headDim] */
  readonly out: Float32Array;
}

/** How the products of queries and keys become scores. Both values are f32. */
export interface ScoreScaling {
  readonly scale: number;
  /** Scores pass through softcap · tanh(score / softcap); null when they stay as they are. */
  readonly softcap: number | null;
}

/**
 * out = softmax(scale · q · kᵀ) · v over positions first … last, for one query head
 *
 * q, out [headDim]; keys, values [last + 1, headDim], by position. Tiled and rescaled as in FlashAttention (Dao et al. 2022),
 * in groups of tiles that are merged in order: backends may walk the groups in parallel and still give the same bits.
 */
export function attendHead(
  q: Float32Array,
  keys: Float32Array,
  values: Float32Array,
  first: number,
  last: number,
  scaling: ScoreScaling,
  out: Float32Array,
): void {
  const headDim = q.length;
  const groupPositions = tilePositions * groupTiles;
  let merged: SoftmaxState | null = null;
  for (let group = Math.floor(first / groupPositions); group * groupPositions <= last; group++) {
    const state: SoftmaxState = { max: Number.NEGATIVE_INFINITY, sum: 0, out: new Float32Array(headDim) };
    let isFirstTile = true;
    for (let tile = group * groupTiles; tile < (group + 1) * groupTiles; tile++) {
      const from = Math.max(first, tile * tilePositions);
      const to = Math.min(last, (tile + 1) * tilePositions - 1);
      if (from > to) continue;
      addTile(state, isFirstTile, q, keys, values, from, to, scaling);
      isFirstTile = false;
    }
    if (merged) mergeStates(merged, state);
    else merged = state;
  }
  for (let d = 0; d < headDim; d++) out[d] = merged!.out[d]! / merged!.sum;
}

const scores = new Float32Array(tilePositions);
const lanes = new Float32Array(numLanes);

/** Takes the visible positions from … to of one tile into the state. */
function addTile(
  state: SoftmaxState,
  isFirstTile: boolean,
  q: Float32Array,
  keys: Float32Array,
  values: Float32Array,
  from: number,
  to: number,
  { scale, softcap }: ScoreScaling,
): void {
  const fma = fma32;
  const headDim = q.length;
  // 1. Scores, and the largest so far
  let max = state.max;
  for (let p = from; p <= to; p++) {
    const key = p * headDim;
    let score = 0;
    for (let d = 0; d < headDim; d++) score = fma(q[d]!, keys[key + d]!, score);
    score = fround(score * scale);
    if (softcap !== null) score = softcapped(score, softcap);
    scores[p - from] = score;
    if (score > max) max = score;
  }
  // 2. Exponentials and their row sum; a position's lane is its place in the tile mod 8
  lanes.fill(0);
  for (let p = from; p <= to; p++) {
    const weight = exp32(fround(scores[p - from]! - max));
    scores[p - from] = weight;
    lanes[p % numLanes] = lanes[p % numLanes]! + weight;
  }
  const tileSum = sumLanes(lanes);
  // 3. What was summed under the old maximum is scaled to the new one
  if (isFirstTile) {
    state.sum = tileSum;
  } else {
    const rescale = exp32(fround(state.max - max));
    state.sum = fma(state.sum, rescale, tileSum);
    for (let d = 0; d < headDim; d++) state.out[d] = state.out[d]! * rescale;
  }
  state.max = max;
  // 4. Values, each output dimension one chain over the positions
  for (let p = from; p <= to; p++) {
    const weight = scores[p - from]!;
    const value = p * headDim;
    for (let d = 0; d < headDim; d++) state.out[d] = fma(weight, values[value + d]!, state.out[d]!);
  }
}

/** Merges a later group of tiles into the earlier ones. */
function mergeStates(earlier: SoftmaxState, later: SoftmaxState): void {
  const max = Math.max(earlier.max, later.max);
  const x = exp32(fround(earlier.max - max));
  const y = exp32(fround(later.max - max));
  earlier.max = max;
  earlier.sum = fma32(earlier.sum, x, fround(later.sum * y));
  for (let d = 0; d < earlier.out.length; d++) {
    earlier.out[d] = fma32(earlier.out[d]!, x, fround(later.out[d]! * y));
  }
}
