/** Id of the greatest logit, ties to the lower id. -1 when all are -Infinity. The row holds no NaN. */
export function argmax(logits: Float32Array): number {
  let best = Number.NEGATIVE_INFINITY;
  let bestTokenId = -1;
  for (let tokenId = 0; tokenId < logits.length; tokenId++) {
    const logit = logits[tokenId]!;
    if (logit > best) {
      best = logit;
      bestTokenId = tokenId;
    }
  }
  return bestTokenId;
}
