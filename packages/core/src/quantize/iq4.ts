import { iq4Codes } from '../tensor/formats/iq4-formats.ts';
import { type EncodeBlock, writeNibbles } from './blocks-of-32.ts';
import { writeHalf } from './half-field.ts';
import { nearestWithin, valueOfLargestMagnitude } from './search-scale.ts';

/** Scales that are tried, in units of the outermost level. */
const trials = 7;

/** One f16 scale per 32 values. */
export const encodeIq4Nl: EncodeBlock = (values, block) => {
  const scale = writeHalf(block, 0, searchLevelScale(values));
  writeNibbles(block, 2, (i) => levelOf(values[i]!, scale));
};

/** Super-blocks of 256: eight sub-blocks with 6-bit signed scales. */
export const encodeIq4Xs: EncodeBlock = (values, block) => {
  const wanted = Float32Array.from({ length: 8 }, (_, s) => searchLevelScale(values.subarray(32 * s, 32 * s + 32)));
  const scale = writeHalf(block, 0, valueOfLargestMagnitude(wanted) / -32);
  let high = 0;
  for (let s = 0; s < 8; s++) {
    const subScale = scale === 0 ? 0 : nearestWithin(wanted[s]! / scale, -32, 31);
    const stored = subScale + 32;
    high |= (stored >> 4) << (2 * s);
    const at = 4 + (s >> 1);
    block.setUint8(at, s % 2 === 0 ? stored & 15 : block.getUint8(at) | ((stored & 15) << 4));
    writeNibbles(block, 8 + 16 * s, (i) => levelOf(values[32 * s + i]!, scale * subScale));
  }
  block.setUint16(2, high, true);
};

/** The scale with the smallest squared error, weighted by x²: as `searchScale`, over these levels. */
function searchLevelScale(values: Float32Array): number {
  const extreme = valueOfLargestMagnitude(values);
  if (Math.abs(extreme) < 1e-15) return 0;
  let bestScale = 0;
  let bestGain = 0;
  for (let trial = -trials; trial <= trials; trial++) {
    const tried = extreme / (iq4Codes[0]! + trial);
    let sumXLevel = 0;
    let sumLevelLevel = 0;
    for (let i = 0; i < values.length; i++) {
      const value = values[i]!;
      const level = iq4Codes[levelOf(value, tried)]!;
      const weight = value * value;
      sumXLevel += weight * value * level;
      sumLevelLevel += weight * level * level;
    }
    if (sumLevelLevel > 0 && sumXLevel * sumXLevel > bestGain * sumLevelLevel) {
      bestGain = (sumXLevel * sumXLevel) / sumLevelLevel;
      bestScale = sumXLevel / sumLevelLevel;
    }
  }
  return bestScale;
}

/** Index of the level nearest to value / scale, the lower one halfway between two; that of 1 where the scale is 0. */
function levelOf(value: number, scale: number): number {
  if (scale === 0) return 8;
  const wanted = value / scale;
  let index = 0;
  while (index < 15 && 2 * wanted > iq4Codes[index]! + iq4Codes[index + 1]!) index++;
  return index;
}
