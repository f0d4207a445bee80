import {
  isQuantizedDtype,
  type PlainDtype,
  type QuantizableDtype,
  quantizableDtypes,
  UnsupportedError,
  type WeightDtype,
  weightDtypes,
} from '@hearth/core';

/** Types that weights can be written in: plain floats, and what GGUF files quantize to. */
export type StorageDtype = PlainDtype | QuantizableDtype;

export const storageDtypes: readonly StorageDtype[] = ['f32', 'f16', 'bf16', ...quantizableDtypes];

/** @throws UnsupportedError for a type that is only read, or that is none */
export function requireStorageDtype(dtype: string): StorageDtype {
  const found = storageDtypes.find((known) => known === dtype);
  if (found) return found;
  throw new UnsupportedError(`Weights cannot be written as ${dtype}. There are ${storageDtypes.join(', ')}.`, {
    details: { dtype, expected: storageDtypes },
  });
}

export function isQuantizable(dtype: WeightDtype): dtype is QuantizableDtype {
  return (quantizableDtypes as readonly string[]).includes(dtype);
}

/**
 * What stands in for a type whose blocks of 256 do not fit the rows of a matrix: the type with blocks of 32 that is next in
 * size from above (bits a weight: q4_k 4.5 and q5_0 5.5, q5_k 5.5 and q5_1 6, q6_k 6.6 and q8_0 8.5; `iq4_nl` with 4.5 is
 * the smallest there is).
 */
const withSmallBlocks: Readonly<Partial<Record<StorageDtype, StorageDtype>>> = {
  q2_k: 'iq4_nl',
  q3_k: 'iq4_nl',
  iq4_xs: 'iq4_nl',
  q4_k: 'q5_0',
  q5_k: 'q5_1',
  q6_k: 'q8_0',
};

/**
 * The type itself where rows of so many columns are whole blocks of it, else what stands in for it; `f16` for rows that are
 * not even a multiple of 32.
 */
export function fittingDtype(dtype: StorageDtype, columns: number): StorageDtype {
  const fits = (candidate: StorageDtype) => columns % weightDtypes[candidate].blockElements === 0;
  if (!isQuantizedDtype(dtype) || fits(dtype)) return dtype;
  const smaller = withSmallBlocks[dtype] ?? dtype;
  return fits(smaller) ? smaller : 'f16';
}
