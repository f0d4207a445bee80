import { f32ToF16, type QuantizedDtype, type WeightDtype, weightByteLength, weightDtypes } from '@hearth/core';
import { seededRandom } from './random.ts';

/** Types that come in blocks. */
export type BlockDtype = QuantizedDtype | 'f8_e4m3';

export const blockDtypes = Object.keys(weightDtypes).filter(
  (dtype) => weightDtypes[dtype as WeightDtype].blockElements > 1,
) as BlockDtype[];

interface FileFields {
  /** Bytes at which the f16 scale and minimum of a file block are. */
  readonly halves: readonly number[];
  /** First and last byte of its one-byte scales and minimums, packed or not. */
  readonly scales?: readonly [number, number];
}

const fileFields: Readonly<Record<QuantizedDtype, FileFields>> = {
  q8_0: { halves: [0] },
  q4_0: { halves: [0] },
  q4_1: { halves: [0, 2] },
  q5_0: { halves: [0] },
  q5_1: { halves: [0, 2] },
  iq4_nl: { halves: [0] },
  q2_k: { halves: [80, 82], scales: [0, 15] },
  q3_k: { halves: [108], scales: [96, 107] },
  q4_k: { halves: [0, 2], scales: [4, 15] },
  q5_k: { halves: [0, 2], scales: [4, 15] },
  q6_k: { halves: [208], scales: [192, 207] },
  iq4_xs: { halves: [0], scales: [2, 7] },
  int4_g32: { halves: [0] },
  int4_g128: { halves: [0] },
};

/** What the bytes of a block are set to where they are not random. */
export interface BlockFill {
  readonly codes?: number;
  readonly scales?: number;
  readonly zeroPoint?: number;
}

/**
 * Blocks as in a file, whose codes and small scales are any bits, so that every value occurs, and whose f16 numbers are of
 * either sign and moderate size.
 */
export function randomBlocks(dtype: BlockDtype, numElements: number, seed: number, fill: BlockFill = {}): Uint8Array {
  const random = seededRandom(seed);
  const integer = (end: number) => Math.floor(random() * end);
  const bytes = Uint8Array.from({ length: weightByteLength(dtype, numElements) }, () => fill.codes ?? integer(256));
  const number = (size: number) => size * (0.1 + random()) * (random() < 0.3 ? -1 : 1);
  for (let at = 0; at < bytes.length; at += weightDtypes[dtype].blockBytes) {
    const block = new DataView(bytes.buffer, at, weightDtypes[dtype].blockBytes);
    if (dtype === 'f8_e4m3') {
      block.setFloat32(0, number(0.01), true);
      for (let i = 4; i < 36; i++) if ((bytes[at + i]! & 0x7f) === 0x7f) bytes[at + i] = 0x7e; // not NaN
      continue;
    }
    const { halves, scales } = fileFields[dtype];
    if (scales && fill.scales !== undefined) bytes.fill(fill.scales, at + scales[0], at + scales[1] + 1);
    for (const half of halves) block.setUint16(half, f32ToF16(number(scales ? 0.0005 : 0.01)), true);
    if (dtype === 'int4_g32' || dtype === 'int4_g128') block.setUint16(2, fill.zeroPoint ?? integer(17), true);
  }
  return bytes;
}
