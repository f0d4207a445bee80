import { blockElements, type Matrix } from '../matrix.ts';
import type { Rows } from '../rows.ts';

/**
 * out[t] = table[tokenIds[t]]
 *
 * table [vocabSize, width], tokenIds [T], out [T, width]. A quantized row is scale · code + min with one rounding: the
 * product of an 11-bit scale and an 8-bit code is exact, and storing the sum rounds it.
 */
export function embed(table: Matrix, tokenIds: Int32Array, out: Rows): void {
  const { columns } = table;
  for (let t = 0; t < tokenIds.length; t++) {
    const row = tokenIds[t]! * columns;
    const to = out.offset + t * out.stride;
    if (table.kind === 'dense') {
      out.data.set(table.values.subarray(row, row + columns), to);
      continue;
    }
    const { codes, scales, mins } = table;
    for (let i = 0; i < columns; i++) {
      const block = Math.floor((row + i) / blockElements);
      out.data[to + i] = scales[block]! * codes[row + i]! + (mins ? mins[block]! : 0);
    }
  }
}
