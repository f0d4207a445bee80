import { f16ToF32, f32ToF16 } from '@hearth/core';
import type { TensorToWrite } from '../../tensor/tensor-to-write.ts';

// AWQ and GPTQ tensors from known codes, written from the definitions of the formats and apart from the reader: code by code.

/** A matrix [rows, columns] in 4 bits: value = scale · (code − zero), scale and zero of the group of the column. */
export interface Int4Codes {
  readonly rows: number;
  readonly columns: number;
  readonly numGroups: number;
  groupOf(column: number): number;
  code(row: number, column: number): number;
  zero(row: number, group: number): number;
  scale(row: number, group: number): number;
}

/** Codes and zero points of all kinds, scales of both signs. Exact in f16, and of few enough bits for bf16. */
export function madeUpCodes(
  rows: number,
  columns: number,
  groupSize: number,
  groupOf = (column: number) => Math.floor(column / groupSize),
): Int4Codes {
  return {
    rows,
    columns,
    numGroups: Math.ceil(columns / groupSize),
    groupOf,
    code: (row, column) => (row * 7 + column * 11 + ((row * column) >> 3)) & 15,
    zero: (row, group) => (row * 5 + group * 3) & 15,
    scale: (row, group) =>
      f16ToF32(f32ToF16((row % 3 === 2 ? -1 : 1) * (1 + ((row + group * 13) % 64) / 64) * 2 ** -7)),
  };
}

/** Columns dealt to the groups in turn, so that each group has its columns from all over the matrix. */
export function dealtOut(columns: number, groupSize: number): (column: number) => number {
  return (column) => column % Math.ceil(columns / groupSize);
}

/** The matrix as floats, row after row. */
export function plainValues({ rows, columns, groupOf, code, zero, scale }: Int4Codes): Float32Array {
  return Float32Array.from({ length: rows * columns }, (_, i) => {
    const [row, column] = [Math.floor(i / columns), i % columns];
    return scale(row, groupOf(column)) * (code(row, column) - zero(row, groupOf(column)));
  });
}

/** Eight numbers of 4 bits in a word, the first in the lowest bits. */
function word(numbers: readonly number[]): number {
  return numbers.reduce((sum, number, i) => sum + number * 16 ** i, 0);
}

const eight = [0, 1, 2, 3, 4, 5, 6, 7];

export function i32Tensor(
  name: string,
  [rows, columns]: readonly [number, number],
  value: (row: number, column: number) => number,
): TensorToWrite {
  const data = new Uint32Array(rows * columns).map((_, i) => value(Math.floor(i / columns), i % columns));
  return { name, dtype: 'i32', shape: [rows, columns], data: () => new Uint8Array(data.buffer) };
}

export function scalesTensor(
  name: string,
  { rows, numGroups, scale }: Int4Codes,
  dtype: 'f16' | 'bf16',
): TensorToWrite {
  const bits = new Uint16Array(numGroups * rows).map((_, i) => {
    const value = scale(i % rows, Math.floor(i / rows));
    return dtype === 'f16' ? f32ToF16(value) : new Uint32Array(Float32Array.of(value).buffer)[0]! >>> 16;
  });
  return { name, dtype, shape: [numGroups, rows], data: () => new Uint8Array(bits.buffer) };
}

/**
 * AutoAWQ, GEMM: a word has eight neighbouring rows of the matrix, in the order 0, 2, 4, 6, 1, 3, 5, 7 from the lowest bits on.
 * Words lie as [columns, rows / 8].
 */
export function awqTensors(module: string, codes: Int4Codes): TensorToWrite[] {
  const { rows, columns, numGroups } = codes;
  const order = [0, 2, 4, 6, 1, 3, 5, 7];
  return [
    i32Tensor(`${module}.qweight`, [columns, rows / 8], (column, i) =>
      word(order.map((place) => codes.code(8 * i + place, column))),
    ),
    i32Tensor(`${module}.qzeros`, [numGroups, rows / 8], (group, i) =>
      word(order.map((place) => codes.zero(8 * i + place, group))),
    ),
    scalesTensor(`${module}.scales`, codes, 'f16'),
  ];
}

/**
 * GPTQ: a word has eight neighbouring columns, the first in the lowest bits; words lie as [columns / 8, rows]. Zero points come
 * eight rows to a word, less 1 modulo 16 in version 1. `g_idx` has the group of every column.
 */
export function gptqTensors(
  module: string,
  codes: Int4Codes,
  { version = 1, scalesAs = 'f16' }: { readonly version?: 1 | 2; readonly scalesAs?: 'f16' | 'bf16' } = {},
): TensorToWrite[] {
  const { rows, columns, numGroups } = codes;
  const stored = (zero: number) => (version === 1 ? (zero + 15) % 16 : zero);
  const gIdx = i32Tensor(`${module}.g_idx`, [1, columns], (_, column) => codes.groupOf(column));
  return [
    i32Tensor(`${module}.qweight`, [columns / 8, rows], (i, row) =>
      word(eight.map((place) => codes.code(row, 8 * i + place))),
    ),
    i32Tensor(`${module}.qzeros`, [numGroups, rows / 8], (group, i) =>
      word(eight.map((place) => stored(codes.zero(8 * i + place, group)))),
    ),
    scalesTensor(`${module}.scales`, codes, scalesAs),
    { ...gIdx, shape: [columns] },
  ];
}
