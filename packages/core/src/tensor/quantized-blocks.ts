import { UnsupportedError } from '../errors/errors.ts';
import type { QuantizedDtype } from './dtypes.ts';
import { weightDtypes } from './dtypes.ts';
import { f16ToF32 } from './half.ts';

/** The integer codes, scales and mins of consecutive 32-element blocks. value[i] = scales[i / 32] · codes[i] + mins[i / 32] */
export interface QuantizedBlocks {
  /** Signed codes, [numBlocks · 32]; the −8 of `q4_0` is already applied. */
  readonly codes: Int8Array;
  /** [numBlocks] */
  readonly scales: Float32Array;
  /** [numBlocks], present for formats that have a minimum. */
  readonly mins?: Float32Array;
}

/** Splits blocks as they lie in a file (see `weightDtypes`) into codes, scales and mins. `bytes` holds whole blocks. */
export function splitQuantizedBlocks(dtype: QuantizedDtype, bytes: Uint8Array): QuantizedBlocks {
  if (dtype !== 'q8_0' && dtype !== 'q4_0' && dtype !== 'q4_1')
    throw new UnsupportedError(`${dtype} is not decoded yet.`);
  const { blockBytes } = weightDtypes[dtype];
  const numBlocks = bytes.length / blockBytes;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const codes = new Int8Array(numBlocks * 32);
  const scales = new Float32Array(numBlocks);
  const mins = dtype === 'q4_1' ? new Float32Array(numBlocks) : undefined;
  const codesOffset = dtype === 'q4_1' ? 4 : 2;
  const bias = dtype === 'q4_0' ? 8 : 0;
  for (let block = 0; block < numBlocks; block++) {
    const start = block * blockBytes;
    scales[block] = f16ToF32(view.getUint16(start, true));
    if (mins) mins[block] = f16ToF32(view.getUint16(start + 2, true));
    for (let i = 0; i < 32; i++) {
      if (dtype === 'q8_0') {
        codes[block * 32 + i] = view.getInt8(start + codesOffset + i);
      } else {
        const byte = bytes[start + codesOffset + (i & 15)]!;
        codes[block * 32 + i] = (i < 16 ? byte & 15 : byte >> 4) - bias;
      }
    }
  }
  return mins ? { codes, scales, mins } : { codes, scales };
}

/**
 * The floats of quantized blocks: fround(fround(scale · code) + min), where a format without a minimum adds +0, so that a
 * negative scale times code 0 is +0 and not −0 (docs/numerics.md, embed). The product is exact (11 + 8 bits), so this is one
 * rounding.
 */
export function dequantizeBlocks({ codes, scales, mins }: QuantizedBlocks): Float32Array {
  const values = new Float32Array(codes.length);
  for (let i = 0; i < codes.length; i++) {
    const block = i >> 5;
    values[i] = scales[block]! * codes[i]! + (mins ? mins[block]! : 0);
  }
  return values;
}
