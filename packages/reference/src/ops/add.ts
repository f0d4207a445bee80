import type { Rows } from '../rows.ts';

/** residual += delta, in place. Both [numRows, width]. */
export function add(residual: Rows, delta: Rows, numRows: number): void {
  for (let t = 0; t < numRows; t++) {
    const to = residual.offset + t * residual.stride;
    const from = delta.offset + t * delta.stride;
    for (let i = 0; i < residual.width; i++) {
      residual.data[to + i] = residual.data[to + i]! + delta.data[from + i]!;
    }
  }
}
