import type { PlainDtype, WeightDtype } from './dtypes.ts';
import { weightDtypes } from './dtypes.ts';

/** Units of the numbers in front of the codes: 16-bit scales, minimums and zero points, then scales of a byte each. */
const headerUnits: Readonly<Record<Exclude<WeightDtype, PlainDtype>, readonly number[]>> = {
  q8_0: [2],
  q4_0: [2],
  q4_1: [2, 2],
  q5_0: [2],
  q5_1: [2, 2],
  iq4_nl: [2],
  q2_k: [2, 2, ...repeated(1, 16)],
  q3_k: [2, ...repeated(1, 12)],
  q4_k: [2, 2, ...repeated(1, 16)],
  q5_k: [2, 2, ...repeated(1, 16)],
  q6_k: [2, ...repeated(1, 16)],
  iq4_xs: [2, ...repeated(1, 8)],
  int4_g32: [2, 2],
  int4_g128: [2, 2],
  f8_e4m3: [4],
};

/**
 * The sizes in bytes of the units into which a canonical block is cut before rows are interleaved, in order.
 *
 * Codes go in units of 4 bytes, so that a vector of 32 bytes has 4 bytes of each of 8 rows. Elements of plain types and of
 * `f8_e4m3` go one by one.
 */
export function interleaveUnits(dtype: WeightDtype): readonly number[] {
  const { packedBlockBytes } = weightDtypes[dtype];
  if (dtype === 'f32' || dtype === 'f16' || dtype === 'bf16') return [packedBlockBytes];
  const header = headerUnits[dtype];
  const codeBytes = packedBlockBytes - header.reduce((sum, unit) => sum + unit, 0);
  const codeUnit = dtype === 'f8_e4m3' ? 2 : 4;
  return [...header, ...repeated(codeUnit, codeBytes / codeUnit)];
}

function repeated(unit: number, count: number): number[] {
  return new Array<number>(count).fill(unit);
}
