import type { GgufScalarType } from './gguf.ts';

/** Metadata value types by their number in the file; `array` is 9. */
export const ggufValueTypes: readonly (GgufScalarType | 'array')[] = [
  'u8',
  'i8',
  'u16',
  'i16',
  'u32',
  'i32',
  'f32',
  'bool',
  'string',
  'array',
  'u64',
  'i64',
  'f64',
];

/** The fewest bytes that a value of each type takes: an empty string is its length, an empty array its type and count. */
export const minimumValueBytes: Readonly<Record<GgufScalarType | 'array', number>> = {
  u8: 1,
  i8: 1,
  u16: 2,
  i16: 2,
  u32: 4,
  i32: 4,
  f32: 4,
  bool: 1,
  string: 8,
  array: 12,
  u64: 8,
  i64: 8,
  f64: 8,
};

/** Typed arrays of the numeric types. They are filled with the bytes of the file, so the host must be little endian, as core's packed layouts also demand. */
export const numberArrayTypes = {
  u8: Uint8Array,
  i8: Int8Array,
  u16: Uint16Array,
  i16: Int16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
  u64: BigUint64Array,
  i64: BigInt64Array,
} as const;

export type NumericType = keyof typeof numberArrayTypes;

export function isNumericType(type: GgufScalarType | 'array'): type is NumericType {
  return type in numberArrayTypes;
}
