import { NumericError } from '@hearth/core';

const EXPONENT_BITS = 0x7f800000;
/** Added to a full exponent it carries into the sign bit; any other exponent stays below. */
const EXPONENT_STEP = 0x00800000;

/**
 * Refuses a row with NaN or an infinity: the model, or the kernel that ran it, has failed, and any token would be a lie.
 *
 * @throws NumericError naming the first bad token id
 */
export function requireFinite(logits: Float32Array): void {
  // All exponent bits set is exactly NaN or infinity. Four at a time on integers, without a branch: half the time of a
  // comparison per value, and this walk is half of what greedy sampling costs.
  const bits = new Int32Array(logits.buffer, logits.byteOffset, logits.length);
  const numWhole = bits.length & ~3;
  let carried = 0;
  for (let i = 0; i < numWhole; i += 4) {
    carried |=
      ((bits[i]! & EXPONENT_BITS) + EXPONENT_STEP) |
      ((bits[i + 1]! & EXPONENT_BITS) + EXPONENT_STEP) |
      ((bits[i + 2]! & EXPONENT_BITS) + EXPONENT_STEP) |
      ((bits[i + 3]! & EXPONENT_BITS) + EXPONENT_STEP);
  }
  for (let i = numWhole; i < bits.length; i++) carried |= (bits[i]! & EXPONENT_BITS) + EXPONENT_STEP;
  if (carried >= 0) return;

  const tokenId = logits.findIndex((logit) => !Number.isFinite(logit));
  throw new NumericError(
    'logits',
    `Logits must be finite, but token ${tokenId} has ${logits[tokenId]}. The model run that made them has failed.`,
  );
}

/**
 * Refuses what a custom processor must not write. -Infinity is fine: that is how it bans.
 *
 * @throws NumericError naming the processor and the first bad token id
 */
export function requireLogits(logits: Float32Array, processorName: string): void {
  for (let tokenId = 0; tokenId < logits.length; tokenId++) {
    if (logits[tokenId]! < Number.POSITIVE_INFINITY) continue;
    throw new NumericError(
      processorName,
      `Processors may write finite logits, or -Infinity to ban a token, but ${processorName} wrote ${logits[tokenId]} for token ${tokenId}.`,
    );
  }
}
