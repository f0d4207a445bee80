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

/** Rows between two looks at the clock; a few hundred thousand products. */
const rowsPerLook = 64;

/**
 * out = x · Wᵀ (+ bias), for several matrices that share x; their outputs lie side by side
 *
 * x [numRows, k], out [numRows, sum of rows]. Every output is one chain of fma in ascending k: over elements for plain
 * weights, over blocks of 32 for quantized ones, whose activations are quantized first. A bias is added after the chain.
 */
export async function linear(
  x: Rows,
  parts: readonly LinearPart[],
  out: Rows,
  numRows: number,
  turn: EventLoopTurn,
): Promise<void> {
  const quantized = parts.some(({ weight }) => weight.kind === 'quantized') ? quantizeActivations(x, numRows) : null;
  let column = 0;
  for (const { weight, bias } of parts) {
    const partOut = { ...out, offset: out.offset + column, width: weight.rows };
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

/** acc = fma(w[r][k], x[t][k], acc), k ascending, for rows first … end of w */
function denseRows(x: Rows, w: DenseMatrix, first: number, end: number, out: Rows, numRows: number): void {
  const fma = fma32;
  const { columns, values } = w;
  const { data } = x;
  for (let r = first; r < end; r++) {
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
 * Per block, ascending: acc = fma(Σ code_w · code_x, scale_w · scale_x, acc), and for formats with a minimum
 * acc = fma(min_w, Σ code_x · scale_x, acc)
 *
 * The integer sum is below 2^24, so it is exact in any order and exact as a float.
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
  const { fround } = Math;
  const { codes, scales, mins } = w;
  const blocksPerRow = w.columns / blockElements;
  for (let r = first; r < end; r++) {
    for (let t = 0; t < numRows; t++) {
      let acc = 0;
      for (let b = 0; b < blocksPerRow; b++) {
        const weightBlock = r * blocksPerRow + b;
        const xBlock = t * blocksPerRow + b;
        const weightStart = weightBlock * blockElements;
        const xStart = xBlock * blockElements;
        let sum = 0;
        for (let i = 0; i < blockElements; i++) sum += codes[weightStart + i]! * x.codes[xStart + i]!;
        const xScale = x.scales[xBlock]!;
        acc = fma(sum, fround(scales[weightBlock]! * xScale), acc);
        if (mins) acc = fma(mins[weightBlock]!, fround(x.sums[xBlock]! * xScale), acc);
      }
      out.data[out.offset + t * out.stride + r] = acc;
    }
  }
}

function addBias(out: Rows, bias: Float32Array, numRows: number): void {
  for (let t = 0; t < numRows; t++) {
    const to = out.offset + t * out.stride;
    for (let i = 0; i < out.width; i++) out.data[to + i] = out.data[to + i]! + bias[i]!;
  }
}
