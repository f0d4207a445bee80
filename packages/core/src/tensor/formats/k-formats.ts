import { type BlockFormat, readHalf } from './block-format.ts';

/**
 * The K types of GGUF: super-blocks of 256 elements with one f16 scale d, in sub-blocks of 16 or 32 that have an integer
 * scale each, and in some types an integer minimum m, whose value is −(dmin · m). Both products are exact in f32.
 *
 * Bytes of a super-block in order, elements i = 0 … 255:
 *
 * - `q2_k`: 16 bytes (sub-block s of 16: scale in the low nibble, m in the high one), 64 bytes of 2-bit codes, d, dmin.
 * - `q3_k`: 32 bytes of high bits, 64 bytes of 2-bit codes, 12 bytes of 6-bit scales, d. code = 3 bits − 4, scale − 32.
 * - `q4_k`: d, dmin, 12 bytes of 6-bit scales and 6-bit m (sub-blocks of 32), 128 bytes of nibbles.
 * - `q5_k`: d, dmin, the same 12 bytes, 32 bytes of high bits, 128 bytes of nibbles.
 * - `q6_k`: 128 bytes of low nibbles, 64 bytes of high 2 bits, 16 signed scales, d. code = 6 bits − 32.
 */
export const kFormats = {
  q2_k: {
    hasSubScales: true,
    hasMins: true,
    minElements: 16,
    readBlock(file, at, { codes, scales, subScales, mins }, first) {
      scales.fill(readHalf(file, at + 80), first / 32, first / 32 + 8);
      const dmin = readHalf(file, at + 82);
      for (let s = 0; s < 16; s++) {
        const byte = file.getUint8(at + s);
        subScales![first / 16 + s] = byte & 15;
        mins![first / 16 + s] = -dmin * (byte >> 4);
      }
      for (let i = 0; i < 256; i++) codes[first + i] = twoBits(file, at + 16, i);
    },
  },
  q3_k: {
    hasSubScales: true,
    hasMins: false,
    minElements: 32,
    readBlock(file, at, { codes, scales, subScales }, first) {
      scales.fill(readHalf(file, at + 108), first / 32, first / 32 + 8);
      for (let s = 0; s < 16; s++) {
        const low = file.getUint8(at + 96 + (s & 7)) >> (s < 8 ? 0 : 4);
        const high = file.getUint8(at + 104 + (s & 3)) >> (2 * (s >> 2));
        subScales![first / 16 + s] = ((low & 15) | ((high & 3) << 4)) - 32;
      }
      for (let i = 0; i < 256; i++) codes[first + i] = (twoBits(file, at + 32, i) | (oneBit(file, at, i) << 2)) - 4;
    },
  },
  q4_k: {
    hasSubScales: true,
    hasMins: true,
    minElements: 32,
    readBlock(file, at, { codes, scales, subScales, mins }, first) {
      scales.fill(readHalf(file, at), first / 32, first / 32 + 8);
      readScalesAndMins(file, at, subScales!, mins!, first);
      for (let i = 0; i < 256; i++) codes[first + i] = nibble(file, at + 16, i);
    },
  },
  q5_k: {
    hasSubScales: true,
    hasMins: true,
    minElements: 32,
    readBlock(file, at, { codes, scales, subScales, mins }, first) {
      scales.fill(readHalf(file, at), first / 32, first / 32 + 8);
      readScalesAndMins(file, at, subScales!, mins!, first);
      for (let i = 0; i < 256; i++) codes[first + i] = nibble(file, at + 48, i) | (oneBit(file, at + 16, i) << 4);
    },
  },
  q6_k: {
    hasSubScales: true,
    hasMins: false,
    minElements: 32,
    readBlock(file, at, { codes, scales, subScales }, first) {
      scales.fill(readHalf(file, at + 208), first / 32, first / 32 + 8);
      for (let s = 0; s < 16; s++) subScales![first / 16 + s] = file.getInt8(at + 192 + s);
      for (let i = 0; i < 256; i++) {
        // Each 64 bytes of low nibbles serve 128 elements: the first 64 of them from the low bits.
        const low = file.getUint8(at + 64 * (i >> 7) + (i & 63)) >> (i & 64 ? 4 : 0);
        codes[first + i] = ((low & 15) | (twoBits(file, at + 128, i) << 4)) - 32;
      }
    },
  },
} as const satisfies Record<string, BlockFormat>;

/** The 6-bit scale and minimum of sub-block s = 0 … 7 in the 12 bytes of `q4_k` and `q5_k` that start at `at`. */
export function sixBitPair(file: DataView, at: number, s: number): { scale: number; min: number } {
  if (s < 4) return { scale: file.getUint8(at + s) & 63, min: file.getUint8(at + 4 + s) & 63 };
  // The last four have their low 4 bits in bytes 8 … 11 and their high 2 bits on top of the first four.
  const low = file.getUint8(at + 4 + s);
  return {
    scale: (low & 15) | ((file.getUint8(at + s - 4) >> 6) << 4),
    min: (low >> 4) | ((file.getUint8(at + s) >> 6) << 4),
  };
}

/** The header of `q4_k` and `q5_k` behind its scale: dmin, then eight pairs. */
function readScalesAndMins(file: DataView, at: number, subScales: Int8Array, mins: Float32Array, first: number): void {
  const dmin = readHalf(file, at + 2);
  for (let s = 0; s < 8; s++) {
    const { scale, min } = sixBitPair(file, at + 4, s);
    subScales.fill(scale, first / 16 + 2 * s, first / 16 + 2 * s + 2);
    mins[first / 32 + s] = -dmin * min;
  }
}

/** Bit i of 256 in 32 bytes: byte i mod 32, bit i div 32. */
function oneBit(file: DataView, at: number, i: number): number {
  return (file.getUint8(at + (i & 31)) >> (i >> 5)) & 1;
}

/** Two bits of 256 in 64 bytes: each 32 bytes serve 128 elements, 32 from the lowest two bits, then 32 from the next. */
function twoBits(file: DataView, at: number, i: number): number {
  return (file.getUint8(at + 32 * (i >> 7) + (i & 31)) >> (2 * ((i >> 5) & 3))) & 3;
}

/** A nibble of 256 in 128 bytes: each 32 bytes serve 64 elements, the first 32 from the low bits. */
function nibble(file: DataView, at: number, i: number): number {
  return (file.getUint8(at + 32 * (i >> 6) + (i & 31)) >> (i & 32 ? 4 : 0)) & 15;
}
