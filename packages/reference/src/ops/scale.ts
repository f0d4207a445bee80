import type { Rows } from '../rows.ts';

/** x = x · factor, in place. x [numRows, width] */
export function scale(x: Rows, factor: number, numRows: number): void {
  const roundedFactor = Math.fround(factor);
  for (let t = 0; t < numRows; t++) {
    const row = x.offset + t * x.stride;
    for (let i = 0; i < x.width; i++) x.data[row + i] = x.data[row + i]! * roundedFactor;
  }
}
