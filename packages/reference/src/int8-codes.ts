// What activations for quantized weights and a q8 cache have in common: code = x · (127 / max|x|), rounded half to even.

/** Codes go from −127 to 127; −128 is never one, so that a code can be negated. */
export const largestCode = 127;

/** Vectors whose largest magnitude is below it become zero; 127 / amax would overflow for smaller ones. */
export const smallestAmax = 2 ** -120;

/** Adding and subtracting it rounds a double of magnitude below 2^51 to an integer, halves to even. */
export const roundToInteger = 1.5 * 2 ** 52;
