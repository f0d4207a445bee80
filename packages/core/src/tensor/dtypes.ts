/** Storage types of weights that Hearth computes with. Quantized types store blocks of 32 consecutive elements of a row. */
export type WeightDtype = 'f32' | 'f16' | 'bf16' | 'q8_0' | 'q4_0' | 'q4_1';

export interface DtypeInfo {
  /** Elements that share one block; 1 for plain floats. */
  readonly blockElements: number;
  /** Bytes of one block in a file. */
  readonly blockBytes: number;
}

/**
 * File layouts, little endian.
 *
 * - `q8_0`: f16 scale, 32 signed codes. value = scale · code
 * - `q4_0`: f16 scale, 16 bytes; byte i holds element i in its low nibble and element i + 16 in its high nibble. value = scale · (nibble − 8)
 * - `q4_1`: f16 scale, f16 min, 16 bytes as in `q4_0`. value = scale · nibble + min
 */
export const weightDtypes: Readonly<Record<WeightDtype, DtypeInfo>> = {
  f32: { blockElements: 1, blockBytes: 4 },
  f16: { blockElements: 1, blockBytes: 2 },
  bf16: { blockElements: 1, blockBytes: 2 },
  q8_0: { blockElements: 32, blockBytes: 34 },
  q4_0: { blockElements: 32, blockBytes: 18 },
  q4_1: { blockElements: 32, blockBytes: 20 },
};

export type QuantizedDtype = 'q8_0' | 'q4_0' | 'q4_1';

export function isQuantizedDtype(dtype: WeightDtype): dtype is QuantizedDtype {
  return weightDtypes[dtype].blockElements > 1;
}

/**
 * Bytes that `numElements` consecutive elements of one or more whole rows take in a file.
 * `numElements` must be a multiple of the block size; the result is exact up to 2^53.
 */
export function weightByteLength(dtype: WeightDtype, numElements: number): number {
  const { blockElements, blockBytes } = weightDtypes[dtype];
  return (numElements / blockElements) * blockBytes;
}
