import {
  f32ToBf16,
  f32ToF16,
  type MappedFile,
  MemoryFile,
  type QuantizableDtype,
  quantizeBlocks,
  type WeightDtype,
  type WeightSource,
  weightByteLength,
} from '@hearth/core';

/** Floats as a weight of the given type, in memory. Plain types round; those that come in blocks are quantized. */
export function weightSource(
  name: string,
  shape: readonly number[],
  values: Float32Array,
  dtype: WeightDtype = 'f32',
): WeightSource {
  return fileSource(name, shape, dtype, new MemoryFile(encodeWeights(values, dtype)));
}

/** A weight that is all of a file. */
export function fileSource(
  name: string,
  shape: readonly number[],
  dtype: WeightDtype,
  file: MappedFile,
  more: Partial<WeightSource> = {},
): WeightSource {
  return { name, dtype, shape, file, offset: 0, byteLength: file.size, ...more };
}

/** The bytes of floats in a type that files have. */
export function encodeWeights(values: Float32Array, dtype: WeightDtype): Uint8Array {
  if (dtype !== 'f32' && dtype !== 'f16' && dtype !== 'bf16') return quantizeBlocks(dtype as QuantizableDtype, values);
  const bytes = new Uint8Array(weightByteLength(dtype, values.length));
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) {
    if (dtype === 'f32') view.setFloat32(i * 4, value, true);
    else view.setUint16(i * 2, dtype === 'f16' ? f32ToF16(value) : f32ToBf16(value), true);
  }
  return bytes;
}
