import type { QuantizedBlocks } from '@hearth/core';

/** A weight matrix [rows, columns] as the ops read it. */
export type Matrix = DenseMatrix | QuantizedMatrix;

/** Weights as f32: exact for f32, f16 and bf16; f8_e4m3 is its scale times its code, rounded. */
export interface DenseMatrix {
  readonly kind: 'dense';
  readonly rows: number;
  readonly columns: number;
  /** [rows, columns] */
  readonly values: Float32Array;
}

/** Weights with integer codes, row after row: value = scale · subScale · code + min, blocks along a row. */
export interface QuantizedMatrix extends QuantizedBlocks {
  readonly kind: 'quantized';
  readonly rows: number;
  /** A multiple of 32. */
  readonly columns: number;
  /** Column i here is column `columnOrder[i]` of the model's matrix; null where they are the same. */
  readonly columnOrder: Uint32Array | null;
}

/** Elements of a row that share one scale, and that meet one scale of the activations. */
export const blockElements = 32;

export function matrixBytes(matrix: Matrix): number {
  if (matrix.kind === 'dense') return matrix.values.byteLength;
  const { codes, scales, subScales, mins, columnOrder } = matrix;
  return [codes, scales, subScales, mins, columnOrder].reduce((sum, array) => sum + (array?.byteLength ?? 0), 0);
}
