const fround = Math.fround;

/**
 * The tokens still in the running, best first: logit descending, then id ascending. Entry i of each array belongs to
 * candidate i; only the first `length` entries mean anything.
 */
export class Candidates {
  length = 0;
  tokenIds = new Uint32Array(0);
  /** After biases, penalties and mask, before temperature. */
  logits = new Float32Array(0);
  /** (logit - best logit) / temperature: 0 for the best one and its ties, below for the others. */
  scaledLogits = new Float32Array(0);
  /** exp32(scaledLogit): probability up to a common factor. */
  weights = new Float32Array(0);

  /** Makes room for `capacity` candidates, keeping nothing. */
  reset(capacity: number): void {
    this.length = 0;
    if (this.tokenIds.length >= capacity) return;
    this.tokenIds = new Uint32Array(capacity);
    this.logits = new Float32Array(capacity);
    this.scaledLogits = new Float32Array(capacity);
    this.weights = new Float32Array(capacity);
  }

  /** Sum of the weights in f32, candidate by candidate in order. */
  totalWeight(): number {
    const { length, weights } = this;
    let sum = 0;
    for (let i = 0; i < length; i++) sum = fround(sum + weights[i]!);
    return sum;
  }

  /** Keeps the first `length` candidates, at least one and at most all. */
  truncate(length: number): void {
    this.length = Math.max(1, Math.min(length, this.length));
  }

  /** Keeps the candidates for which `isKept` holds, in order; if there are none, the best one. */
  keep(isKept: (index: number) => boolean): void {
    const { length, tokenIds, logits, scaledLogits, weights } = this;
    let kept = 0;
    for (let i = 0; i < length; i++) {
      if (!isKept(i)) continue;
      tokenIds[kept] = tokenIds[i]!;
      logits[kept] = logits[i]!;
      scaledLogits[kept] = scaledLogits[i]!;
      weights[kept] = weights[i]!;
      kept++;
    }
    this.truncate(kept);
  }
}
