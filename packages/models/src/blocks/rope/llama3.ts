import { baseFrequencies } from './base-frequencies.ts';
import type { Llama3Scaling } from './rope-scaling.ts';

const { fround } = Math;

/**
 * Llama 3.1: waves longer than original / lowFreqFactor are divided by factor, shorter than original / highFreqFactor stay, and
 * those between are blended by how many of them fit into the original context. Every step in f32, as Transformers does it with
 * PyTorch, where a number divided by a tensor is the number times the reciprocal.
 */
export function llama3Frequencies(theta: number, rotaryDim: number, scaling: Llama3Scaling): Float32Array {
  const { lowFreqFactor, highFreqFactor, originalMaxPositionEmbeddings: original } = scaling;
  const factor = fround(scaling.factor);
  const longest = fround(original / lowFreqFactor);
  const shortest = fround(original / highFreqFactor);
  return baseFrequencies(theta, rotaryDim).map((frequency) => {
    const wavelength = fround(fround(1 / frequency) * fround(2 * Math.PI));
    if (wavelength > longest) return frequency / factor;
    if (wavelength < shortest) return frequency;
    const numWaves = fround(fround(1 / wavelength) * original);
    const smooth = fround(fround(numWaves - fround(lowFreqFactor)) / fround(highFreqFactor - lowFreqFactor));
    const scaled = fround(fround(fround(1 - smooth) * frequency) / factor);
    return scaled + fround(smooth * frequency);
  });
}
