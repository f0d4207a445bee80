import type { Rows } from '../rows.ts';

/** out[r] = x[rowIds[r]]. x [numTokens, width], out [rowIds.length, width] */
export function gatherRows(x: Rows, rowIds: Int32Array, out: Rows): void {
  for (let r = 0; r < rowIds.length; r++) {
    const from = x.offset + rowIds[r]! * x.stride;
    out.data.set(x.data.subarray(from, from + x.width), out.offset + r * out.stride);
  }
}
