import {
  f8e4m3Values,
  f32ToBf16,
  f32ToF16,
  isQuantizedDtype,
  MemoryFile,
  quantizeBlocks,
  type WeightDtype,
  type WeightSource,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';

/** Floats as a source of the given type. Plain types round; quantized ones are quantized. */
export function weightSource(
  name: string,
  shape: readonly number[],
  values: Float32Array,
  dtype: WeightDtype = 'f32',
): WeightSource {
  const bytes = encoded(dtype, values);
  return { name, dtype, shape, file: new MemoryFile(bytes), offset: 0, byteLength: bytes.length };
}

function encoded(dtype: WeightDtype, values: Float32Array): Uint8Array {
  if (dtype === 'int4_g32' || dtype === 'int4_g128' || dtype === 'f8_e4m3') return encodedBlocks(dtype, values);
  if (isQuantizedDtype(dtype)) return quantizeBlocks(dtype, values);
  const bytes = new Uint8Array(weightByteLength(dtype, values.length));
  const view = new DataView(bytes.buffer);
  for (const [i, value] of values.entries()) {
    if (dtype === 'f32') view.setFloat32(i * 4, value, true);
    else view.setUint16(i * 2, dtype === 'f16' ? f32ToF16(value) : f32ToBf16(value), true);
  }
  return bytes;
}

/** The layouts that no file has, and so no quantizer writes. */
function encodedBlocks(dtype: 'int4_g32' | 'int4_g128' | 'f8_e4m3', values: Float32Array): Uint8Array {
  const { blockElements, blockBytes } = weightDtypes[dtype];
  const bytes = new Uint8Array(weightByteLength(dtype, values.length));
  for (let block = 0; block * blockElements < values.length; block++) {
    const view = new DataView(bytes.buffer, block * blockBytes, blockBytes);
    const inBlock = values.subarray(block * blockElements, (block + 1) * blockElements);
    if (dtype === 'f8_e4m3') writeF8(view, inBlock);
    else writeInt4(view, inBlock);
  }
  return bytes;
}

function writeInt4(view: DataView, values: Float32Array): void {
  const low = Math.min(0, ...values);
  const high = Math.max(0, ...values);
  const scale = (high - low) / 15 || 1;
  const zero = Math.round(-low / scale);
  view.setUint16(0, f32ToF16(scale), true);
  view.setUint16(2, zero, true);
  for (const [i, value] of values.entries()) {
    const nibble = Math.max(0, Math.min(15, Math.round(value / scale) + zero));
    const at = 4 + 16 * Math.floor(i / 32) + (i % 16);
    view.setUint8(at, i % 32 < 16 ? nibble : view.getUint8(at) | (nibble << 4));
  }
}

function writeF8(view: DataView, values: Float32Array): void {
  const scale = Math.fround(Math.max(...values.map(Math.abs)) / 448) || 1;
  view.setFloat32(0, scale, true);
  for (const [i, value] of values.entries()) {
    let best = 0;
    for (const [code, candidate] of f8e4m3Values.entries()) {
      if (Math.abs(candidate * scale - value) < Math.abs(f8e4m3Values[best]! * scale - value)) best = code;
    }
    view.setUint8(4 + i, best);
  }
}
