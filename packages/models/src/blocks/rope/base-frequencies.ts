const { fround } = Math;

/** theta^(2i / rotaryDim), [rotaryDim / 2] (Su et al. 2021). Base, exponent and power are each rounded to f32, as in PyTorch. */
export function wavePowers(theta: number, rotaryDim: number): Float32Array {
  const base = fround(theta);
  return Float32Array.from({ length: rotaryDim / 2 }, (_, i) => base ** fround((2 * i) / rotaryDim));
}

/** The frequencies without scaling, theta^(−2i / rotaryDim). */
export function baseFrequencies(theta: number, rotaryDim: number): Float32Array {
  return wavePowers(theta, rotaryDim).map((power) => 1 / power);
}

/** Every frequency divided by `factor`. */
export function linearFrequencies(theta: number, rotaryDim: number, factor: number): Float32Array {
  return baseFrequencies(theta, rotaryDim).map((frequency) => frequency / fround(factor));
}
