import { type BlockFormat, readHalf, readNibbles } from './block-format.ts';

/**
 * The first types of GGUF: blocks of 32 with one f16 scale, and one f16 minimum in the `_1` types.
 *
 * - `q8_0`: scale, 32 signed bytes. value = scale · code
 * - `q4_0`: scale, 16 bytes of nibbles. code = nibble − 8
 * - `q4_1`: scale, min, nibbles. value = scale · nibble + min
 * - `q5_0`: scale, 4 bytes, nibbles. Bit i of the 4 bytes, as a u32, is the fifth bit of element i. code = 5 bits − 16
 * - `q5_1`: scale, min, 4 bytes, nibbles. value = scale · 5 bits + min
 */
export const legacyFormats = {
  q8_0: {
    hasSubScales: false,
    hasMins: false,
    minElements: 32,
    readBlock(file, at, { codes, scales }, first) {
      scales[first / 32] = readHalf(file, at);
      for (let i = 0; i < 32; i++) codes[first + i] = file.getInt8(at + 2 + i);
    },
  },
  q4_0: {
    hasSubScales: false,
    hasMins: false,
    minElements: 32,
    readBlock(file, at, { codes, scales }, first) {
      scales[first / 32] = readHalf(file, at);
      readNibbles(file, at + 2, codes, first, 8);
    },
  },
  q4_1: {
    hasSubScales: false,
    hasMins: true,
    minElements: 32,
    readBlock(file, at, { codes, scales, mins }, first) {
      scales[first / 32] = readHalf(file, at);
      mins![first / 32] = readHalf(file, at + 2);
      readNibbles(file, at + 4, codes, first, 0);
    },
  },
  q5_0: {
    hasSubScales: false,
    hasMins: false,
    minElements: 32,
    readBlock(file, at, { codes, scales }, first) {
      scales[first / 32] = readHalf(file, at);
      readNibbles(file, at + 6, codes, first, 16);
      addFifthBits(file.getUint32(at + 2, true), codes, first);
    },
  },
  q5_1: {
    hasSubScales: false,
    hasMins: true,
    minElements: 32,
    readBlock(file, at, { codes, scales, mins }, first) {
      scales[first / 32] = readHalf(file, at);
      mins![first / 32] = readHalf(file, at + 2);
      readNibbles(file, at + 8, codes, first, 0);
      addFifthBits(file.getUint32(at + 4, true), codes, first);
    },
  },
} as const satisfies Record<string, BlockFormat>;

function addFifthBits(bits: number, codes: Int8Array, first: number): void {
  for (let i = 0; i < 32; i++) codes[first + i]! += ((bits >>> i) & 1) << 4;
}
