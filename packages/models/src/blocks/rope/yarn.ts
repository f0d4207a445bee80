import { wavePowers } from './base-frequencies.ts';
import type { YarnScaling } from './rope-scaling.ts';

const { fround } = Math;

/**
 * YaRN (Peng et al. 2023, "NTK-by-parts"): frequency · share + frequency / factor · (1 − share), the share falling from 1 to 0
 * over a ramp of dimensions. The ends of the ramp are computed in f64 and everything along the dimensions in f32, as in
 * Transformers.
 */
export function yarnFrequencies(theta: number, rotaryDim: number, scaling: YarnScaling): Float32Array {
  const { factor, betaFast, betaSlow, truncate, originalMaxPositionEmbeddings: original } = scaling;
  /** The dimension whose wave fits so many times into the original context. */
  const dimensionOf = (rotations: number) =>
    (rotaryDim * Math.log(original / (rotations * 2 * Math.PI))) / (2 * Math.log(theta));
  const ends = [dimensionOf(betaFast), dimensionOf(betaSlow)] as const;
  const low = Math.max(truncate ? Math.floor(ends[0]) : ends[0], 0);
  const high = Math.min(truncate ? Math.ceil(ends[1]) : ends[1], rotaryDim - 1);
  // A ramp without a width would divide by 0.
  const width = fround(high === low ? high + 0.001 - low : high - low);

  return wavePowers(theta, rotaryDim).map((power, i) => {
    const ramp = Math.min(1, Math.max(0, fround(fround(i - fround(low)) / width)));
    const share = fround(1 - ramp);
    const extrapolated = fround(1 / power);
    const interpolated = fround(1 / fround(fround(factor) * power));
    return fround(interpolated * fround(1 - share)) + fround(extrapolated * share);
  });
}

/** The temperature of YaRN, 0.1 · mscale · ln(factor) + 1, in f64. */
export function yarnMscale(factor: number, mscale = 1): number {
  return factor <= 1 ? 1 : 0.1 * mscale * Math.log(factor) + 1;
}
