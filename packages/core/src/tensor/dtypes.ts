/** Storage types of plain floats: one element is one float. */
export type PlainDtype = 'f32' | 'f16' | 'bf16';

/**
 * Storage types with small integer codes that share scales. A linear with such weights quantizes its activations too
 * (docs/numerics.md).
 *
 * The names are those of GGUF; `int4_g32` and `int4_g128` are our own layouts of what AWQ and GPTQ checkpoints store.
 */
export type QuantizedDtype =
  | 'q8_0'
  | 'q4_0'
  | 'q4_1'
  | 'q5_0'
  | 'q5_1'
  | 'iq4_nl'
  | 'q2_k'
  | 'q3_k'
  | 'q4_k'
  | 'q5_k'
  | 'q6_k'
  | 'iq4_xs'
  | 'int4_g32'
  | 'int4_g128';

/** Storage types of weights that Hearth computes with. `f8_e4m3` comes in blocks, but its codes are floats. */
export type WeightDtype = PlainDtype | QuantizedDtype | 'f8_e4m3';

export interface DtypeInfo {
  /** Consecutive elements of a row that share one block; 1 for plain floats. */
  readonly blockElements: number;
  /** Bytes of one block in a file. */
  readonly blockBytes: number;
}

export interface WeightDtypeInfo extends DtypeInfo {
  /** Bytes of one block of one row in packed row tiles (packed-layout.ts). */
  readonly packedBlockBytes: number;
}

/** The block of every type. Where each byte of it lies is written in `formats/` and drawn in docs/shapes.md. */
export const weightDtypes: Readonly<Record<WeightDtype, WeightDtypeInfo>> = {
  f32: { blockElements: 1, blockBytes: 4, packedBlockBytes: 4 },
  f16: { blockElements: 1, blockBytes: 2, packedBlockBytes: 2 },
  bf16: { blockElements: 1, blockBytes: 2, packedBlockBytes: 2 },
  q8_0: { blockElements: 32, blockBytes: 34, packedBlockBytes: 34 },
  q4_0: { blockElements: 32, blockBytes: 18, packedBlockBytes: 18 },
  q4_1: { blockElements: 32, blockBytes: 20, packedBlockBytes: 20 },
  q5_0: { blockElements: 32, blockBytes: 22, packedBlockBytes: 22 },
  q5_1: { blockElements: 32, blockBytes: 24, packedBlockBytes: 24 },
  iq4_nl: { blockElements: 32, blockBytes: 18, packedBlockBytes: 18 },
  q2_k: { blockElements: 256, blockBytes: 84, packedBlockBytes: 84 },
  q3_k: { blockElements: 256, blockBytes: 110, packedBlockBytes: 110 },
  q4_k: { blockElements: 256, blockBytes: 144, packedBlockBytes: 148 },
  q5_k: { blockElements: 256, blockBytes: 176, packedBlockBytes: 180 },
  q6_k: { blockElements: 256, blockBytes: 210, packedBlockBytes: 210 },
  iq4_xs: { blockElements: 256, blockBytes: 136, packedBlockBytes: 138 },
  int4_g32: { blockElements: 32, blockBytes: 20, packedBlockBytes: 20 },
  int4_g128: { blockElements: 128, blockBytes: 68, packedBlockBytes: 68 },
  f8_e4m3: { blockElements: 32, blockBytes: 36, packedBlockBytes: 68 },
};

/** Whether the codes are integers. Not so for `f8_e4m3`, although it comes in blocks with a scale. */
export function isQuantizedDtype(dtype: WeightDtype): dtype is QuantizedDtype {
  return weightDtypes[dtype].blockElements > 1 && dtype !== 'f8_e4m3';
}

/**
 * Bytes that `numElements` consecutive elements of one or more whole rows take in a file.
 * `numElements` must be a multiple of the block size; the result is exact up to 2^53.
 */
export function weightByteLength(dtype: WeightDtype, numElements: number): number {
  const { blockElements, blockBytes } = weightDtypes[dtype];
  return (numElements / blockElements) * blockBytes;
}
