import { type BlockFormat, readHalf, readNibbles } from './block-format.ts';

/**
 * Layouts of our own for what AWQ and GPTQ checkpoints store: groups of 32 or 128 columns with an f16 scale and an integer
 * zero point of 0 … 16. Made when such a checkpoint is opened, in no file on disk.
 *
 * A block: f16 scale, u16 zero point, 16 bytes of nibbles as in `q4_0` for each 32 elements. value = scale · (nibble − zero)
 */
export const int4Formats = {
  int4_g32: int4Format(1),
  int4_g128: int4Format(4),
} as const satisfies Record<string, BlockFormat>;

function int4Format(numChunks: number): BlockFormat {
  return {
    hasSubScales: false,
    hasMins: false,
    minElements: 32,
    readBlock(file, at, { codes, scales }, first) {
      scales.fill(readHalf(file, at), first / 32, first / 32 + numChunks);
      const zero = file.getUint16(at + 2, true);
      for (let c = 0; c < numChunks; c++) readNibbles(file, at + 4 + 16 * c, codes, first + 32 * c, zero);
    },
  };
}
