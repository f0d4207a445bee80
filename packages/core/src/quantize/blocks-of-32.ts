import { writeHalf } from './half-field.ts';
import { nearestWithin, valueOfLargestMagnitude } from './search-scale.ts';

/** Writes one block of 32 values, as laid out in `weightDtypes`. */
export type EncodeBlock = (values: Float32Array, block: DataView) => void;

/** scale = largest magnitude / 127 */
export const encodeQ8_0: EncodeBlock = (values, block) => {
  const scale = writeHalf(block, 0, Math.abs(valueOfLargestMagnitude(values)) / 127);
  for (let i = 0; i < 32; i++) block.setInt8(2 + i, codeOf(values[i]!, scale, -127, 127));
};

/** The extreme value, with its sign, gets the code −8: it is exact up to the rounding of the scale. */
export const encodeQ4_0: EncodeBlock = (values, block) => {
  const scale = writeHalf(block, 0, valueOfLargestMagnitude(values) / -8);
  writeNibbles(block, 2, (i) => codeOf(values[i]!, scale, -8, 7) + 8);
};

/** As `q4_0`, with the code −16. */
export const encodeQ5_0: EncodeBlock = (values, block) => {
  const scale = writeHalf(block, 0, valueOfLargestMagnitude(values) / -16);
  writeFiveBits(block, 2, (i) => codeOf(values[i]!, scale, -16, 15) + 16);
};

/** min = smallest value, scale = range / 15 */
export const encodeQ4_1: EncodeBlock = (values, block) => {
  const { scale, min } = writeRange(values, block, 15);
  writeNibbles(block, 4, (i) => codeOf(values[i]! - min, scale, 0, 15));
};

/** min = smallest value, scale = range / 31 */
export const encodeQ5_1: EncodeBlock = (values, block) => {
  const { scale, min } = writeRange(values, block, 31);
  writeFiveBits(block, 4, (i) => codeOf(values[i]! - min, scale, 0, 31));
};

function writeRange(values: Float32Array, block: DataView, maxCode: number): { scale: number; min: number } {
  let smallest = values[0]!;
  let largest = values[0]!;
  for (const value of values) {
    if (value < smallest) smallest = value;
    if (value > largest) largest = value;
  }
  return { scale: writeHalf(block, 0, (largest - smallest) / maxCode), min: writeHalf(block, 2, smallest) };
}

/** Code 0 where the scale is 0: a block of zeros, or of values smaller than f16 can hold. */
function codeOf(value: number, scale: number, least: number, most: number): number {
  return scale === 0 ? 0 : nearestWithin(value / scale, least, most);
}

/** Element i in the low nibble of byte i, element i + 16 in its high nibble. */
export function writeNibbles(block: DataView, at: number, code: (i: number) => number): void {
  for (let i = 0; i < 16; i++) block.setUint8(at + i, code(i) | (code(i + 16) << 4));
}

/** The fifth bits of elements 0..31 in 4 bytes, then nibbles. */
function writeFiveBits(block: DataView, at: number, code: (i: number) => number): void {
  let high = 0;
  for (let i = 0; i < 32; i++) high |= (code(i) >> 4) << i;
  block.setInt32(at, high, true);
  writeNibbles(block, at + 4, (i) => code(i) & 15);
}
