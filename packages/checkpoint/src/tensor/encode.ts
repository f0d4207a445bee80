import {
  f32ToBf16,
  f32ToF16,
  InvalidArgumentError,
  quantizeBlocks,
  type WeightDtype,
  weightByteLength,
} from '@hearth/core';
import { isQuantizable, requireStorageDtype } from '../quantize/storage-dtype.ts';

/**
 * Floats to the bytes of a storage type. Plain floats round to nearest even; how quantized types find their scales is said at
 * `quantizeBlocks`.
 *
 * @param values a multiple of the block size
 * @throws InvalidArgumentError for a finite value that would become infinite, and for what a quantized type cannot hold
 * @throws UnsupportedError for types that are only read
 */
export function encodeElements(dtype: WeightDtype, values: Float32Array): Uint8Array {
  requireStorageDtype(dtype);
  if (isQuantizable(dtype)) return quantizeBlocks(dtype, values);
  const bytes = new Uint8Array(weightByteLength(dtype, values.length));
  const view = new DataView(bytes.buffer);
  if (dtype === 'f32') {
    for (let i = 0; i < values.length; i++) view.setFloat32(i * 4, values[i]!, true);
    return bytes;
  }
  const [toBits, infinity] = dtype === 'f16' ? ([f32ToF16, 0x7c00] as const) : ([f32ToBf16, 0x7f80] as const);
  for (let i = 0; i < values.length; i++) {
    const bits = toBits(values[i]!);
    if ((bits & 0x7fff) === infinity && Number.isFinite(values[i]!)) {
      throw new InvalidArgumentError(`The value ${values[i]} at ${i} is too large for ${dtype}.`);
    }
    view.setUint16(i * 2, bits, true);
  }
  return bytes;
}
