/** How the matrices of a checkpoint are stored, as its `quantization_config` says. */
export type Quantization = Int4Quantization | Fp8Quantization;

/** Integer codes of 4 bits in groups of columns that share a scale and a zero point: AWQ and GPTQ. */
export interface Int4Quantization {
  readonly kind: 'int4';
  /** Columns of a group, a multiple of 32; null when every row is one group. */
  readonly groupSize: number | null;
  readonly packing: Int4Packing;
  /** Columns may be in any group, and `g_idx` must be there to say in which. */
  readonly isActOrder: boolean;
}

/** How codes lie in the 32-bit words of `qweight` and `qzeros`, eight in each. */
export interface Int4Packing {
  readonly name: 'awq' | 'gptq';
  /** The codes of a word of `qweight` are of neighbouring columns (GPTQ) or rows (AWQ) of the matrix [rows, columns]. */
  readonly neighbours: 'columns' | 'rows';
  /** Where a word holds eight rows, its nibble i, from the lowest bits on, is that of row `nibbleOrder[i]` of them. */
  readonly nibbleOrder: readonly number[];
  /** Zero points are stored less this, modulo 16. */
  readonly zeroOffset: 0 | 1;
  /** All zero points are 8, the middle of the codes. */
  readonly isSymmetric: boolean;
}

/** Floats of 8 bits (e4m3) with f32 scales. */
export interface Fp8Quantization {
  readonly kind: 'fp8';
  /** [rows, columns] of the blocks that share a scale; null when a row or the whole matrix does. */
  readonly block: readonly [number, number] | null;
  /** What a user should know, a sentence each. */
  readonly warnings: readonly string[];
}
