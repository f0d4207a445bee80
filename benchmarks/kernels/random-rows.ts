import {
  f32ToBf16,
  f32ToF16,
  type QuantizableDtype,
  type Quantizer,
  quantizableDtypes,
  type WeightDtype,
  weightByteLength,
  weightDtypes,
} from '@hearth/core';

/** Rows that are random; a matrix repeats them, which no kernel can tell. */
const numRandomRows = 8;

/** A matrix as in a file, of random values around 0 that keep products small. */
export async function randomMatrix(
  dtype: WeightDtype,
  rows: number,
  columns: number,
  quantizer: Quantizer,
): Promise<Uint8Array> {
  const strip = await randomStrip(dtype, numRandomRows * columns, quantizer);
  const matrix = new Uint8Array(weightByteLength(dtype, rows * columns));
  for (let at = 0; at < matrix.length; at += strip.length) matrix.set(strip.subarray(0, matrix.length - at), at);
  return matrix;
}

async function randomStrip(dtype: WeightDtype, length: number, quantizer: Quantizer): Promise<Uint8Array> {
  if ((quantizableDtypes as readonly string[]).includes(dtype)) {
    return quantizer.quantize(dtype as QuantizableDtype, randomFloats(length, 0.02));
  }
  switch (dtype) {
    case 'f32':
      return new Uint8Array(randomFloats(length, 0.02).buffer);
    case 'f16':
      return new Uint8Array(Uint16Array.from(randomFloats(length, 0.02), f32ToF16).buffer);
    case 'bf16':
      return new Uint8Array(Uint16Array.from(randomFloats(length, 0.02), f32ToBf16).buffer);
    default:
      return randomCodes(dtype, length);
  }
}

/** Types that only checkpoints come in: random codes behind a small scale. */
function randomCodes(dtype: WeightDtype, length: number): Uint8Array {
  const { blockBytes } = weightDtypes[dtype];
  // Exponent bits at most half way up, so that no f8 code is NaN.
  const bytes = Uint8Array.from(randomFloats(weightByteLength(dtype, length), 1), (value) => Math.abs(value) * 64);
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const block = new DataView(bytes.buffer, at, blockBytes);
    if (dtype === 'f8_e4m3') {
      block.setFloat32(0, 0.01, true);
    } else {
      block.setUint16(0, f32ToF16(0.002), true);
      block.setUint16(2, 8, true); // the zero point of int4
    }
  }
  return bytes;
}

/** Uniform in [−size, size], the same each time. */
export function randomFloats(length: number, size: number): Float32Array {
  let state = 1;
  return Float32Array.from({ length }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return size * (state / 2 ** 31 - 1);
  });
}
