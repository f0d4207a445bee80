import { fma32 } from '@hearth/core';
import type { EventLoopTurn } from '../event-loop-turn.ts';
import { blockElements, type DenseMatrix, type Matrix, type QuantizedMatrix } from '../matrix.ts';
import type { Rows } from '../rows.ts';
import { type QuantizedRows, quantizeActivations } from './quantize-activations.ts';

/** One of the matrices of a linear op, [rows, x.width], and its bias, [rows]. */
export interface LinearPart {
  readonly weight: Matrix;
  readonly bias: Float32Array | null;
}

/** Products between two looks at the clock: about a millisecond. */
const productsPerLook = 2 ** 18;

/**
 * out = x · Wᵀ (+ bias), for several matrices that share x; their outputs lie side by side
 *
 * x [numRows, k], out [numRows, sum of rows]. Every output is one chain of fma in ascending k: over elements for dense
 * weights, over blocks of 32 for quantized ones, whose activations are quantized first: once for all parts, and again for
 * each part that has the columns in an order of its own. A bias is added after the chain.
 */
export async function linear(
  x: Rows,
  parts: readonly LinearPart[],
  out: Rows,
  numRows: number,
  turn: EventLoopTurn,
): Promise<void> {
  if (numRows === 0) return;
  const isInOrder = ({ weight }: LinearPart) => weight.kind === 'quantized' && !weight.columnOrder;
  const inOrder = parts.some(isInOrder) ? quantizeActivations(x, numRows) : null;
  let column = 0;
  for (const { weight, bias } of parts) {
    const partOut = { ...out, offset: out.offset + column, width: weight.rows };
    const order = weight.kind === 'quantized' ? weight.columnOrder : null;
    const quantized = order ? quantizeActivations(x, numRows, order) : inOrder;
    // At least the four rows that are computed together.
    const rowsPerLook = Math.max(4, Math.floor(productsPerLook / (weight.columns * numRows)));
    for (let first = 0; first < weight.rows; first += rowsPerLook) {
      if (turn.isOver) await turn.pass();
      const end = Math.min(first + rowsPerLook, weight.rows);
      if (weight.kind === 'dense') denseRows(x, weight, first, end, partOut, numRows);
      else quantizedRows(quantized!, weight, first, end, partOut, numRows);
    }
    if (bias) addBias(partOut, bias, numRows);
    column += weight.rows;
  }
}

/**
 * acc = fma(w[r][k], x[t][k], acc), k ascending, for rows first … end of w
 *
 * Four rows at a time: their chains are independent, so that the processor works on one while it waits for another.
 */
function denseRows(x: Rows, w: DenseMatrix, first: number, end: number, out: Rows, numRows: number): void {
  const fma = fma32;
  const { columns, values } = w;
  const { data } = x;
  let r = first;
  for (; r + 4 <= end; r += 4) {
    const row0 = r * columns;
    const row1 = row0 + columns;
    const row2 = row1 + columns;
    const row3 = row2 + columns;
    for (let t = 0; t < numRows; t++) {
      const from = x.offset + t * x.stride;
      let acc0 = 0;
      let acc1 = 0;
      let acc2 = 0;
      let acc3 = 0;
      for (let k = 0; k < columns; k++) {
        const value = data[from + k]!;
        acc0 = fma(values[row0 + k]!, value, acc0);
        acc1 = fma(values[row1 + k]!, value, acc1);
        acc2 = fma(values[row2 + k]!, value, acc2);
        acc3 = fma(values[row3 + k]!, value, acc3);
      }
      const to = out.offset + t * out.stride + r;
      out.data[to] = acc0;
      out.data[to + 1] = acc1;
      out.data[to + 2] = acc2;
      out.data[to + 3] = acc3;
    }
  }
  for (; r < end; r++) {
    const row = r * columns;
    for (let t = 0; t < numRows; t++) {
      const from = x.offset + t * x.stride;
      let acc = 0;
      for (let k = 0; k < columns; k++) acc = fma(values[row + k]!, data[from + k]!, acc);
      out.data[out.offset + t * out.stride + r] = acc;
    }
  }
}

/**
 * Per block, ascending: acc = fma(isum, scale_w · scale_x, acc), where isum is the sum over both halves of the block of
 * subScale · Σ code_w · code_x; then for each minimum, ascending: acc = fma(min_w, Σ code_x · scale_x, acc) over the elements
 * that it covers
 *
 * isum is an integer of at most 2 · 128 · 16 · 32 · 127 < 2^24 (q6_k), so it is exact as a float.
 */
function quantizedRows(
  x: QuantizedRows,
  w: QuantizedMatrix,
  first: number,
  end: number,
  out: Rows,
  numRows: number,
): void {
  const fma = fma32;
  const { fround, imul } = Math;
  const { codes, scales, subScales, mins, minElements } = w;
  const blocksPerRow = w.columns / blockElements;
  for (let r = first; r < end; r++) {
    for (let t = 0; t < numRows; t++) {
      let acc = 0;
      for (let b = 0; b < blocksPerRow; b++) {
        const wBlock = r * blocksPerRow + b;
        const xBlock = t * blocksPerRow + b;
        const xScale = x.scales[xBlock]!;
        const dot0 = halfDot(codes, wBlock * blockElements, x.codes, xBlock * blockElements);
        const dot1 = halfDot(codes, wBlock * blockElements + 16, x.codes, xBlock * blockElements + 16);
        const isum = subScales
          ? imul(subScales[2 * wBlock]!, dot0) + imul(subScales[2 * wBlock + 1]!, dot1)
          : dot0 + dot1;
        acc = fma(isum, fround(scales[wBlock]! * xScale), acc);
        if (!mins) continue;
        const sum0 = x.halfSums[2 * xBlock]!;
        const sum1 = x.halfSums[2 * xBlock + 1]!;
        if (minElements === 32) {
          acc = fma(mins[wBlock]!, fround((sum0 + sum1) * xScale), acc);
        } else {
          acc = fma(mins[2 * wBlock]!, fround(sum0 * xScale), acc);
          acc = fma(mins[2 * wBlock + 1]!, fround(sum1 * xScale), acc);
        }
      }
      out.data[out.offset + t * out.stride + r] = acc;
    }
  }
}

/**
 * Σ w[i] · x[i] over half a block of codes, an integer and so exact in any order.
 *
 * Written out by eights, with `Math.imul` and `| 0`, it stays in integer registers: 2.5 times as fast as the plain loop.
 */
function halfDot(w: Int8Array, wStart: number, x: Int8Array, xStart: number): number {
  const { imul } = Math;
  let sum = 0;
  for (let i = 0; i < 16; i += 8) {
    const a = wStart + i;
    const b = xStart + i;
    sum =
      (sum +
        imul(w[a]!, x[b]!) +
        imul(w[a + 1]!, x[b + 1]!) +
        imul(w[a + 2]!, x[b + 2]!) +
        imul(w[a + 3]!, x[b + 3]!) +
        imul(w[a + 4]!, x[b + 4]!) +
        imul(w[a + 5]!, x[b + 5]!) +
        imul(w[a + 6]!, x[b + 6]!) +
        imul(w[a + 7]!, x[b + 7]!)) |
      0;
  }
  return sum;
}

function addBias(out: Rows, bias: Float32Array, numRows: number): void {
  for (let t = 0; t < numRows; t++) {
    const to = out.offset + t * out.stride;
    for (let i = 0; i < out.width; i++) out.data[to + i] = out.data[to + i]! + bias[i]!;
  }
}
