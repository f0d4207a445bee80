/** How one distribution over the next token stands to another, and to the token that came. */
export interface LogitComparison {
  /** −log p(token), in nats, of the first and of the second. */
  readonly nll: number;
  readonly otherNll: number;
  /** Kullback-Leibler divergence Σ q · log(q / p) of the first (p) from the second (q), in nats. */
  readonly kl: number;
  /** Whether both have the same most likely token, the lower id where two are equal. */
  readonly agree: boolean;
}

/** Compares two rows of logits, [vocabSize] each, in f64. */
export function compareLogits(logits: Float32Array, other: Float32Array, token: number): LogitComparison {
  const p = logNormalizer(logits);
  const q = logNormalizer(other);
  let kl = 0;
  for (let id = 0; id < logits.length; id++) {
    const logQ = other[id]! - q.log;
    const probability = Math.exp(logQ);
    if (probability > 0) kl += probability * (logQ - (logits[id]! - p.log));
  }
  return {
    nll: p.log - logits[token]!,
    otherNll: q.log - other[token]!,
    // Rounding may leave a hair below zero where both are equal.
    kl: Math.max(0, kl),
    agree: p.argmax === q.argmax,
  };
}

/** log Σ exp(logit), and where the largest is. */
function logNormalizer(logits: Float32Array): { log: number; argmax: number } {
  let argmax = 0;
  for (let id = 1; id < logits.length; id++) if (logits[id]! > logits[argmax]!) argmax = id;
  const largest = logits[argmax]!;
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - largest);
  return { log: largest + Math.log(total), argmax };
}
