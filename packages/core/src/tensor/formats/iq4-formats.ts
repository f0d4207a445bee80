import { type BlockFormat, readHalf } from './block-format.ts';

/** What the 16 nibbles of the `iq4` types stand for: steps that widen away from zero, as weights thin out. */
export const iq4Codes: Int8Array = Int8Array.from([
  -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113,
]);

/**
 * The 4-bit types of GGUF with a table of codes.
 *
 * - `iq4_nl`: blocks of 32: f16 scale, 16 bytes of nibbles as in `q4_0`. value = scale · table[nibble]
 * - `iq4_xs`: super-blocks of 256: f16 scale d, then a 6-bit scale for each 32 elements: u16 with the high 2 bits of all
 *   eight, 4 bytes with their low nibbles; then 8 times 16 bytes of nibbles. value = d · (6 bits − 32) · table[nibble]
 */
export const iq4Formats = {
  iq4_nl: {
    hasSubScales: false,
    hasMins: false,
    minElements: 32,
    readBlock(file, at, { codes, scales }, first) {
      scales[first / 32] = readHalf(file, at);
      readTableCodes(file, at + 2, codes, first);
    },
  },
  iq4_xs: {
    hasSubScales: true,
    hasMins: false,
    minElements: 32,
    readBlock(file, at, { codes, scales, subScales }, first) {
      scales.fill(readHalf(file, at), first / 32, first / 32 + 8);
      const high = file.getUint16(at + 2, true);
      for (let s = 0; s < 8; s++) {
        const low = file.getUint8(at + 4 + (s >> 1)) >> (s & 1 ? 4 : 0);
        const scale = ((low & 15) | (((high >> (2 * s)) & 3) << 4)) - 32;
        subScales!.fill(scale, first / 16 + 2 * s, first / 16 + 2 * s + 2);
        readTableCodes(file, at + 8 + 16 * s, codes, first + 32 * s);
      }
    },
  },
} as const satisfies Record<string, BlockFormat>;

function readTableCodes(file: DataView, at: number, codes: Int8Array, first: number): void {
  for (let j = 0; j < 16; j++) {
    const byte = file.getUint8(at + j);
    codes[first + j] = iq4Codes[byte & 15]!;
    codes[first + 16 + j] = iq4Codes[byte >> 4]!;
  }
}
