import { NumericError } from '@hearth/core';
import type { Rows } from './rows.ts';

/**
 * Checks what an op has written.
 * @param name the boundary at which the rows were written
 * @throws NumericError at the first NaN or infinity
 */
export function checkFinite({ data, offset, stride, width }: Rows, numRows: number, name: string): void {
  for (let t = 0; t < numRows; t++) {
    for (let i = offset + t * stride; i < offset + t * stride + width; i++) {
      const value = data[i]!;
      if (value - value !== 0) {
        throw new NumericError(
          name,
          `${name} gave ${value} (row ${t}, column ${i - offset - t * stride}). The weights are damaged, or the model left the range of f32.`,
        );
      }
    }
  }
}
