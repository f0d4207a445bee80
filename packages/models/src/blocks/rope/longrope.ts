import { wavePowers } from './base-frequencies.ts';
import type { LongRopeScaling } from './rope-scaling.ts';

const { fround } = Math;

/**
 * LongRoPE (Ding et al. 2024): each frequency has a divisor of its own. The list for long texts counts when the configured
 * context length is beyond the original one, also for the first tokens: keys that were rotated by one list cannot be met by
 * queries rotated by the other, so the choice is made once.
 */
export function longRopeFrequencies(
  theta: number,
  rotaryDim: number,
  { shortFactor, longFactor, originalMaxPositionEmbeddings }: LongRopeScaling,
  contextLength: number,
): Float32Array {
  const factors = contextLength > originalMaxPositionEmbeddings ? longFactor : shortFactor;
  return wavePowers(theta, rotaryDim).map((power, i) => 1 / fround(fround(factors[i]!) * power));
}

/** √(1 + ln(factor) / ln(original)), in f64: what the paper multiplies cos and sin by. */
export function longRopeAttentionFactor(factor: number, originalMaxPositionEmbeddings: number): number {
  return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(originalMaxPositionEmbeddings));
}
