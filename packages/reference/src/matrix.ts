/** A weight matrix [rows, columns] as the ops read it. */
export type Matrix = DenseMatrix | QuantizedMatrix;

/** f32, f16 and bf16 weights; the conversion to f32 is exact. */
export interface DenseMatrix {
  readonly kind: 'dense';
  readonly rows: number;
  readonly columns: number;
  /** [rows, columns] */
  readonly values: Float32Array;
}

/** Weights in blocks of 32 along a row: value = scale · code (+ min). */
export interface QuantizedMatrix {
  readonly kind: 'quantized';
  readonly rows: number;
  /** A multiple of 32. */
  readonly columns: number;
  /** [rows, columns] */
  readonly codes: Int8Array;
  /** [rows, columns / 32] */
  readonly scales: Float32Array;
  /** [rows, columns / 32]; null for formats without a minimum. */
  readonly mins: Float32Array | null;
}

/** Elements of a row that share one scale. */
export const blockElements = 32;

export function matrixBytes(matrix: Matrix): number {
  if (matrix.kind === 'dense') return matrix.values.byteLength;
  return matrix.codes.byteLength + matrix.scales.byteLength + (matrix.mins?.byteLength ?? 0);
}
