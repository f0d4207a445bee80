/** The parameters of Llama 3's frequency scaling, as in config.json. */
export interface Llama3RopeScaling {
  readonly rope_type: 'llama3';
  readonly factor: number;
  readonly low_freq_factor: number;
  readonly high_freq_factor: number;
  readonly original_max_position_embeddings: number;
}

/**
 * Llama 3's rope scaling as GGUF keeps it: a tensor `rope_freqs.weight` of [headDim / 2] numbers by which the inverse
 * frequencies are divided. Long waves are divided by `factor`, short ones by 1, those between by a blend of both (Llama 3.1;
 * the formula is that of `rope_type: llama3` in Transformers).
 */
export function llama3FrequencyFactors(scaling: Llama3RopeScaling, ropeTheta: number, headDim: number): Float32Array {
  const { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings: original } = scaling;
  const factors = new Float32Array(headDim / 2);
  for (let i = 0; i < factors.length; i++) {
    const wavelength = 2 * Math.PI * ropeTheta ** ((2 * i) / headDim);
    const blend = (original / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
    const share = Math.min(1, Math.max(0, blend));
    factors[i] = 1 / ((1 - share) / factor + share);
  }
  return factors;
}

/** Relative; the factors were computed in f32 from f32 frequencies, which loses four digits where the blend is steep. */
const tolerance = 1e-3;

/**
 * Finds the `rope_scaling` of config.json that gives these factors: null when nothing is scaled, undefined when no known form
 * gives them.
 *
 * Low and high frequency factor are 1 and 4 in every Llama 3 release; the original context is looked for among powers of two.
 */
export function ropeScalingFromFactors(
  factors: Float32Array,
  ropeTheta: number,
  headDim: number,
): Llama3RopeScaling | { rope_type: 'linear'; factor: number } | null | undefined {
  const isClose = (a: number, b: number) => Math.abs(a - b) <= tolerance * Math.abs(b);
  if (factors.length !== headDim / 2 || !factors.every((factor) => factor > 0 && Number.isFinite(factor))) {
    return undefined;
  }
  const largest = Math.max(...factors);
  if (factors.every((factor) => isClose(factor, largest))) {
    return isClose(largest, 1) ? null : { rope_type: 'linear', factor: largest };
  }
  for (const original of [8192, 1024, 2048, 4096, 16384, 32768, 65536, 131072]) {
    const scaling: Llama3RopeScaling = {
      rope_type: 'llama3',
      factor: largest,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: original,
    };
    const expected = llama3FrequencyFactors(scaling, ropeTheta, headDim);
    if (expected.every((factor, i) => isClose(factors[i]!, factor))) return scaling;
  }
  return undefined;
}
