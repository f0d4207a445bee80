import { isQuantizedDtype, type WeightDtype } from './dtypes.ts';
import { decodeF8Blocks } from './formats/f8-format.ts';
import { bf16ToF32, f16Values } from './half.ts';
import { dequantizeBlocks, splitQuantizedBlocks } from './quantized-blocks.ts';

/** The floats of stored elements, exactly as docs/numerics.md defines them for each type. `bytes` holds whole blocks. */
export function decodeElements(dtype: WeightDtype, bytes: Uint8Array): Float32Array {
  if (isQuantizedDtype(dtype)) return dequantizeBlocks(splitQuantizedBlocks(dtype, bytes));
  if (dtype === 'f8_e4m3') return decodeF8Blocks(bytes);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (dtype === 'f32') {
    const values = new Float32Array(bytes.length / 4);
    for (let i = 0; i < values.length; i++) values[i] = view.getFloat32(i * 4, true);
    return values;
  }
  const values = new Float32Array(bytes.length / 2);
  if (dtype === 'f16') {
    const table = f16Values();
    for (let i = 0; i < values.length; i++) values[i] = table[view.getUint16(i * 2, true)]!;
  } else {
    for (let i = 0; i < values.length; i++) values[i] = bf16ToF32(view.getUint16(i * 2, true));
  }
  return values;
}
