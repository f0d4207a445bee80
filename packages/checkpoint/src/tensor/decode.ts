import {
  bf16ToF32,
  dequantizeBlocks,
  f16ToF32,
  isQuantizedDtype,
  splitQuantizedBlocks,
  type WeightDtype,
} from '@hearth/core';

let f16Values: Float32Array | undefined;

/** The value of each of the 65536 f16 patterns; looking up is several times faster than taking bits apart. */
function f16Table(): Float32Array {
  f16Values ??= Float32Array.from({ length: 65536 }, (_, bits) => f16ToF32(bits));
  return f16Values;
}

/** The floats of stored elements, exactly as docs/numerics.md defines them for each type. `bytes` holds whole blocks. */
export function decodeElements(dtype: WeightDtype, bytes: Uint8Array): Float32Array {
  if (isQuantizedDtype(dtype)) return dequantizeBlocks(splitQuantizedBlocks(dtype, bytes));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (dtype === 'f32') {
    const values = new Float32Array(bytes.length / 4);
    for (let i = 0; i < values.length; i++) values[i] = view.getFloat32(i * 4, true);
    return values;
  }
  const values = new Float32Array(bytes.length / 2);
  if (dtype === 'f16') {
    const table = f16Table();
    for (let i = 0; i < values.length; i++) values[i] = table[view.getUint16(i * 2, true)]!;
  } else {
    for (let i = 0; i < values.length; i++) values[i] = bf16ToF32(view.getUint16(i * 2, true));
  }
  return values;
}
