/**
 * The float of every 8-bit code of the type e4m3fn: 1 sign bit, 4 exponent bits with bias 7, 3 mantissa bits; no infinities,
 * 0x7f and 0xff are NaN, the largest value is 448 (Micikevicius et al. 2022, "FP8 formats for deep learning", and its ONNX
 * name). Every value is exact in f16.
 */
export const f8e4m3Values: Float32Array = Float32Array.from({ length: 256 }, (_, code) => {
  const sign = code & 0x80 ? -1 : 1;
  const exponent = (code >> 3) & 15;
  const mantissa = code & 7;
  if (exponent === 0) return sign * mantissa * 2 ** -9;
  if (exponent === 15 && mantissa === 7) return Number.NaN;
  return sign * (1 + mantissa / 8) * 2 ** (exponent - 7);
});

/**
 * The floats of `f8_e4m3` blocks: an f32 scale, then 32 codes; value = fround(scale · code). A layout of our own, made of the
 * codes and scales of a checkpoint when it is opened, in no file on disk.
 */
export function decodeF8Blocks(bytes: Uint8Array): Float32Array {
  const file = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const numBlocks = bytes.length / 36;
  const values = new Float32Array(numBlocks * 32);
  for (let block = 0; block < numBlocks; block++) {
    const at = block * 36;
    const scale = file.getFloat32(at, true);
    for (let i = 0; i < 32; i++) values[block * 32 + i] = scale * f8e4m3Values[bytes[at + 4 + i]!]!;
  }
  return values;
}
