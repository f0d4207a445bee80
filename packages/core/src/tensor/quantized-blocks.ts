import type { QuantizedDtype } from './dtypes.ts';
import { weightDtypes } from './dtypes.ts';
import type { BlockFormat, QuantizedBlocks } from './formats/block-format.ts';
import { int4Formats } from './formats/int4-formats.ts';
import { iq4Formats } from './formats/iq4-formats.ts';
import { kFormats } from './formats/k-formats.ts';
import { legacyFormats } from './formats/legacy-formats.ts';

const formats: Readonly<Record<QuantizedDtype, BlockFormat>> = {
  ...legacyFormats,
  ...kFormats,
  ...iq4Formats,
  ...int4Formats,
};

/** Room for the numbers of `numElements` elements (whole blocks), all zero. */
export function emptyQuantizedBlocks(dtype: QuantizedDtype, numElements: number): QuantizedBlocks {
  const { hasSubScales, hasMins, minElements } = formats[dtype];
  return {
    codes: new Int8Array(numElements),
    scales: new Float32Array(numElements / 32),
    subScales: hasSubScales ? new Int8Array(numElements / 16) : null,
    mins: hasMins ? new Float32Array(numElements / minElements) : null,
    minElements,
  };
}

/** Takes apart blocks as they lie in a file. `bytes` holds whole blocks. */
export function splitQuantizedBlocks(dtype: QuantizedDtype, bytes: Uint8Array): QuantizedBlocks {
  const { blockElements, blockBytes } = weightDtypes[dtype];
  const format = formats[dtype];
  const numBlocks = bytes.length / blockBytes;
  const file = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const blocks = emptyQuantizedBlocks(dtype, numBlocks * blockElements);
  for (let block = 0; block < numBlocks; block++) {
    format.readBlock(file, block * blockBytes, blocks, block * blockElements);
  }
  return blocks;
}

/**
 * The floats of quantized blocks: fround(fround(scale · subScale · code) + min), where a format without a minimum adds +0, so
 * that a negative scale times code 0 is +0 and not −0 (docs/numerics.md, embed).
 */
export function dequantizeBlocks(blocks: QuantizedBlocks): Float32Array {
  const values = new Float32Array(blocks.codes.length);
  dequantizeInto(blocks, 0, values.length, values, 0);
  return values;
}

/** The same for elements first … first + length, into `target` from `at` on. */
export function dequantizeInto(
  { codes, scales, subScales, mins, minElements }: QuantizedBlocks,
  first: number,
  length: number,
  target: Float32Array,
  at: number,
): void {
  const { fround } = Math;
  for (let i = first; i < first + length; i++) {
    const subScale = subScales ? subScales[Math.floor(i / 16)]! : 1;
    const min = mins ? mins[Math.floor(i / minElements)]! : 0;
    // No type's product needs more than 23 bits, so that only the sum rounds; scales of 24 bits would round both.
    target[at + i - first] = fround(scales[Math.floor(i / 32)]! * subScale * codes[i]!) + min;
  }
}
