/**
 * Searches for the scale (and minimum) of one sub-block of K-quants: codes are found for a few scales around the obvious
 * one, each time with the scale that fits those codes best (weighted least squares), and the smallest error wins.
 *
 * All arithmetic here and in the files beside it is f64, written so that the native quantizer can repeat it operation by
 * operation and give the same bytes: plain + − · / and comparisons, sums in ascending order, no fma.
 */

/** Adding and subtracting it rounds a double of magnitude below 2^51 to an integer, halves to even. */
const roundToInteger = 1.5 * 2 ** 52;

/** The nearest integer within [least, most], halves to even. Beyond 2^51 the bounds decide. */
export function nearestWithin(value: number, least: number, most: number): number {
  if (value <= least) return least;
  if (value >= most) return most;
  return value + roundToInteger - roundToInteger;
}

/** Below it a block counts as zero: scales of such values would be subnormal in f16 many times over. */
const negligible = 1e-15;

/** Offsets, in tenths of a code, of the scales that are tried. */
const symmetricTrials = 9;

/**
 * scale such that x ≈ scale · code with codes in [−numLevels, numLevels − 1]. The value of largest magnitude gets the code
 * −numLevels or a neighbour, so the scale may be negative.
 *
 * @param x values of one sub-block
 * @param numLevels half the number of codes, such as 32 for 6 bits
 * @returns 0 for a block of zeros
 */
export function searchScale(x: Float32Array, numLevels: number): number {
  const extreme = valueOfLargestMagnitude(x);
  if (Math.abs(extreme) < negligible) return 0;
  let bestScale = 0;
  let bestGain = 0;
  for (let trial = -symmetricTrials; trial <= symmetricTrials; trial++) {
    const inverse = -(numLevels + 0.1 * trial) / extreme;
    let sumXCode = 0;
    let sumCodeCode = 0;
    for (let i = 0; i < x.length; i++) {
      const value = x[i]!;
      const code = nearestWithin(inverse * value, -numLevels, numLevels - 1);
      // Large values matter more: what they are multiplied with is no smaller than for others.
      const weight = value * value;
      sumXCode += weight * value * code;
      sumCodeCode += weight * code * code;
    }
    // With the best scale for these codes the squared error is Σ w·x² − sumXCode² / sumCodeCode.
    if (sumCodeCode > 0 && sumXCode * sumXCode > bestGain * sumCodeCode) {
      bestGain = (sumXCode * sumXCode) / sumCodeCode;
      bestScale = sumXCode / sumCodeCode;
    }
  }
  return bestScale;
}

export interface ScaleAndMin {
  scale: number;
  /** At least 0; it is subtracted: x ≈ scale · code − min. */
  min: number;
}

const affineTrials = 15;

/**
 * scale and min such that x ≈ scale · code − min with codes in [0, maxCode], min at least 0 (so a block of positive values
 * keeps zero among its values).
 */
export function searchScaleAndMin(x: Float32Array, maxCode: number): ScaleAndMin {
  let smallest = 0;
  let largest = 0;
  let squares = 0;
  for (const value of x) {
    if (value < smallest) smallest = value;
    if (value > largest) largest = value;
    squares += value * value;
  }
  const range = largest - smallest;
  if (range < negligible) return { scale: 0, min: 0 };
  const typical = Math.sqrt(squares / x.length);
  let best: ScaleAndMin = { scale: range / maxCode, min: -smallest };
  let bestError = Number.POSITIVE_INFINITY;
  for (let trial = 0; trial <= affineTrials; trial++) {
    // From half a code more than the range to one code less: extremes are then clamped, and the others gain.
    const inverse = (maxCode - 0.5 + 0.1 * trial) / range;
    const fit = fitScaleAndMin(x, typical, (value) => nearestWithin(inverse * (value - smallest), 0, maxCode));
    if (fit.error < bestError) {
      bestError = fit.error;
      best = fit;
    }
  }
  return { scale: best.scale, min: best.min };
}

/** The scale and min that fit given codes best, and their error. Weighted by |x| beside the typical magnitude. */
function fitScaleAndMin(x: Float32Array, typical: number, codeOf: (value: number) => number) {
  let weights = 0;
  let sumX = 0;
  let sumXX = 0;
  let sumCode = 0;
  let sumCodeCode = 0;
  let sumXCode = 0;
  for (let i = 0; i < x.length; i++) {
    const value = x[i]!;
    const code = codeOf(value);
    const weight = typical + Math.abs(value);
    weights += weight;
    sumX += weight * value;
    sumXX += weight * value * value;
    sumCode += weight * code;
    sumCodeCode += weight * code * code;
    sumXCode += weight * value * code;
  }
  const determinant = weights * sumCodeCode - sumCode * sumCode;
  if (!(determinant > 0) && sumX < 0) {
    // All codes are equal, and the values are below zero: the minimum alone stands for them.
    return { scale: 0, min: -sumX / weights, error: sumXX - (sumX * sumX) / weights };
  }
  let scale = (weights * sumXCode - sumX * sumCode) / determinant;
  let min = (sumCode * sumXCode - sumX * sumCodeCode) / determinant;
  // Not `min < 0`: without a determinant it is not a number.
  if (!(min >= 0)) {
    min = 0;
    scale = sumXCode / sumCodeCode;
  }
  // Σ w · (scale · code − min − x)²
  const error =
    scale * scale * sumCodeCode +
    min * min * weights +
    sumXX -
    2 * scale * min * sumCode -
    2 * scale * sumXCode +
    2 * min * sumX;
  return { scale, min, error };
}

/** The value of largest magnitude, with its sign; the first where several are equal. */
export function valueOfLargestMagnitude(x: Float32Array): number {
  let extreme = 0;
  for (const value of x) if (Math.abs(value) > Math.abs(extreme)) extreme = value;
  return extreme;
}
