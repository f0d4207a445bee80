import { bf16ToF32, f16ToF32, f32ToF16, InvalidModelError } from '@hearth/core';
import { readStrip } from '../../io/read-strip.ts';
import type { TimeSlice } from '../../io/time-slice.ts';
import type { Int4Matrix } from './int4-matrix.ts';

/**
 * Scales of some rows [numGroups, numRows] as the bits of f16. Those of bf16 must be exact in f16, which all but the smallest
 * are.
 * @throws InvalidModelError that names the first scale that is not finite, or not exact
 */
export async function readScales(
  { rows, scales }: Int4Matrix,
  first: number,
  numRows: number,
  slice: TimeSlice,
): Promise<Uint16Array> {
  const bytes = await readStrip(scales, rows * 2, first * 2, numRows * 2, slice);
  const bits = new Uint16Array(bytes.buffer, bytes.byteOffset, bytes.length / 2);
  const refuse = (i: number, problem: string): never => {
    const place = `group ${Math.floor(i / numRows)}, row ${first + (i % numRows)}`;
    throw new InvalidModelError(
      `${scales.file.path}: tensor "${scales.name}" has a scale that ${problem} (${place}).`,
      {
        details: {
          path: scales.file.path,
          tensor: scales.name,
          group: Math.floor(i / numRows),
          row: first + (i % numRows),
        },
      },
    );
  };
  for (let i = 0; i < bits.length; i++) {
    if (scales.dtype === 'bf16') {
      const scale = bf16ToF32(bits[i]!);
      bits[i] = f32ToF16(scale);
      if (Number.isFinite(scale) && f16ToF32(bits[i]!) !== scale) refuse(i, `is ${scale}, which is not exact in f16`);
    }
    if ((bits[i]! & 0x7c00) === 0x7c00) refuse(i, 'is not finite');
  }
  return bits;
}
