import { dequantizeInto } from '@hearth/core';
import type { Matrix } from '../matrix.ts';
import type { Rows } from '../rows.ts';

/**
 * out[t] = table[tokenIds[t]]
 *
 * table [vocabSize, width], tokenIds [T], out [T, width]. A quantized row is scale · subScale · code + min with one rounding,
 * because the product has at most 23 bits; without a minimum +0 is added. A table has no column order.
 */
export function embed(table: Matrix, tokenIds: Int32Array, out: Rows): void {
  const { columns } = table;
  for (let t = 0; t < tokenIds.length; t++) {
    const row = tokenIds[t]! * columns;
    const to = out.offset + t * out.stride;
    if (table.kind === 'dense') out.data.set(table.values.subarray(row, row + columns), to);
    else dequantizeInto(table, row, columns, out.data, to);
  }
}
