import {
  f32ToBf16,
  f32ToF16,
  MemoryFile,
  type WeightDtype,
  type WeightSource,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';

/** Floats as a source of the given type. Plain types round; quantized ones get codes and scales from the values, simply. */
export function weightSource(
  name: string,
  shape: readonly number[],
  values: Float32Array,
  dtype: WeightDtype = 'f32',
): WeightSource {
  const bytes = new Uint8Array(weightByteLength(dtype, values.length));
  const view = new DataView(bytes.buffer);
  if (dtype === 'f32' || dtype === 'f16' || dtype === 'bf16') {
    for (const [i, value] of values.entries()) {
      if (dtype === 'f32') view.setFloat32(i * 4, value, true);
      else view.setUint16(i * 2, dtype === 'f16' ? f32ToF16(value) : f32ToBf16(value), true);
    }
  } else if (dtype === 'q8_0' || dtype === 'q4_0' || dtype === 'q4_1') {
    for (let block = 0; block < values.length / 32; block++) {
      writeBlock(view, block * weightDtypes[dtype].blockBytes, dtype, values.subarray(block * 32, block * 32 + 32));
    }
  } else throw new Error(`There is no simple quantizer for ${dtype}.`);
  return { name, dtype, shape, file: new MemoryFile(bytes), offset: 0, byteLength: bytes.length };
}

function writeBlock(view: DataView, at: number, dtype: 'q8_0' | 'q4_0' | 'q4_1', values: Float32Array): void {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const largest = Math.max(-low, high);
  const scale = dtype === 'q8_0' ? largest / 127 : dtype === 'q4_0' ? largest / 7 : (high - low) / 15;
  view.setUint16(at, f32ToF16(scale), true);
  if (dtype === 'q4_1') view.setUint16(at + 2, f32ToF16(low), true);
  const codesAt = at + (dtype === 'q4_1' ? 4 : 2);
  for (const [i, value] of values.entries()) {
    if (dtype === 'q8_0') {
      view.setInt8(codesAt + i, Math.round(value / scale));
      continue;
    }
    const code = dtype === 'q4_0' ? Math.round(value / scale) + 8 : Math.round((value - low) / scale);
    const byte = codesAt + (i & 15);
    view.setUint8(byte, i < 16 ? code : view.getUint8(byte) | (code << 4));
  }
}
