import type { EncodeBlock } from './blocks-of-32.ts';
import { writeHalf } from './half-field.ts';
import {
  nearestWithin,
  type ScaleAndMin,
  searchScale,
  searchScaleAndMin,
  valueOfLargestMagnitude,
} from './search-scale.ts';

// Super-blocks of 256 values: sub-blocks have integer scales (and minimums) that share one f16 scale (and one f16 minimum).
// The search gives each sub-block its best scale; these are then rounded to integers, and the codes follow from what was stored.

/** Sub-blocks of 16 with 4-bit scales and minimums, 2-bit codes. */
export const encodeQ2K: EncodeBlock = (values, block) => {
  const { scales, mins, codes } = affineBlock(values, { subBlock: 16, maxCode: 3, maxScale: 15 }, block, 80, 82);
  for (let s = 0; s < 16; s++) block.setUint8(s, scales[s]! | (mins[s]! << 4));
  writeTwoBits(block, 16, codes);
};

/** Sub-blocks of 16 with 6-bit signed scales, 3-bit signed codes. */
export const encodeQ3K: EncodeBlock = (values, block) => {
  const { scales, codes } = symmetricBlock(values, { numLevels: 4, minScale: -32, maxScale: 31 }, block, 108);
  for (let i = 0; i < 32; i++) {
    let high = 0;
    for (let chunk = 0; chunk < 8; chunk++) high |= (codes[32 * chunk + i]! >> 2) << chunk;
    block.setUint8(i, high);
  }
  writeTwoBits(
    block,
    32,
    codes.map((code) => code & 3),
  );
  for (let s = 0; s < 8; s++) block.setUint8(96 + s, ((scales[s]! + 32) & 15) | (((scales[s + 8]! + 32) & 15) << 4));
  for (let j = 0; j < 4; j++) {
    let high = 0;
    for (let p = 0; p < 4; p++) high |= ((scales[4 * p + j]! + 32) >> 4) << (2 * p);
    block.setUint8(104 + j, high);
  }
};

/** Sub-blocks of 32 with 6-bit scales and minimums, 4-bit codes. */
export const encodeQ4K: EncodeBlock = (values, block) => {
  const { scales, mins, codes } = affineBlock(values, { subBlock: 32, maxCode: 15, maxScale: 63 }, block, 0, 2);
  writeSixBitPairs(block, 4, scales, mins);
  writeNibblePairs(block, 16, codes);
};

/** Sub-blocks of 32 with 6-bit scales and minimums, 5-bit codes. */
export const encodeQ5K: EncodeBlock = (values, block) => {
  const { scales, mins, codes } = affineBlock(values, { subBlock: 32, maxCode: 31, maxScale: 63 }, block, 0, 2);
  writeSixBitPairs(block, 4, scales, mins);
  for (let i = 0; i < 32; i++) {
    let high = 0;
    for (let chunk = 0; chunk < 8; chunk++) high |= (codes[32 * chunk + i]! >> 4) << chunk;
    block.setUint8(16 + i, high);
  }
  writeNibblePairs(
    block,
    48,
    codes.map((code) => code & 15),
  );
};

/** Sub-blocks of 16 with 8-bit signed scales, 6-bit signed codes. */
export const encodeQ6K: EncodeBlock = (values, block) => {
  const { scales, codes } = symmetricBlock(values, { numLevels: 32, minScale: -128, maxScale: 127 }, block, 208);
  for (let half = 0; half < 2; half++) {
    for (let i = 0; i < 32; i++) {
      const [a, b, c, d] = [0, 32, 64, 96].map((offset) => codes[128 * half + offset + i]!) as [
        number,
        number,
        number,
        number,
      ];
      block.setUint8(64 * half + i, (a & 15) | ((c & 15) << 4));
      block.setUint8(64 * half + 32 + i, (b & 15) | ((d & 15) << 4));
      block.setUint8(128 + 32 * half + i, (a >> 4) | ((b >> 4) << 2) | ((c >> 4) << 4) | ((d >> 4) << 6));
    }
  }
  for (let s = 0; s < 16; s++) block.setInt8(192 + s, scales[s]!);
};

interface Symmetric {
  readonly numLevels: number;
  readonly minScale: number;
  readonly maxScale: number;
}

/** Sub-blocks of 16 without minimums. Codes are shifted by numLevels, so that they are not negative. */
function symmetricBlock(
  values: Float32Array,
  { numLevels, minScale, maxScale }: Symmetric,
  block: DataView,
  at: number,
) {
  const wanted = Float32Array.from({ length: 16 }, (_, s) =>
    searchScale(values.subarray(16 * s, 16 * s + 16), numLevels),
  );
  const scale = writeHalf(block, at, valueOfLargestMagnitude(wanted) / minScale);
  const scales = new Int8Array(16);
  const codes = new Uint8Array(256).fill(numLevels);
  for (let s = 0; s < 16; s++) {
    scales[s] = scale === 0 ? 0 : nearestWithin(wanted[s]! / scale, minScale, maxScale);
    const step = scale * scales[s]!;
    if (step === 0) continue;
    for (let i = 16 * s; i < 16 * s + 16; i++) {
      codes[i] = nearestWithin(values[i]! / step, -numLevels, numLevels - 1) + numLevels;
    }
  }
  return { scales, codes };
}

interface Affine {
  /** Values of a sub-block. */
  readonly subBlock: number;
  readonly maxCode: number;
  /** Largest integer scale and minimum. */
  readonly maxScale: number;
}

/** Sub-blocks with a scale and a minimum each. */
function affineBlock(
  values: Float32Array,
  { subBlock, maxCode, maxScale }: Affine,
  block: DataView,
  scaleAt: number,
  minAt: number,
) {
  const count = 256 / subBlock;
  const wanted: ScaleAndMin[] = [];
  let largestScale = 0;
  let largestMin = 0;
  for (let s = 0; s < count; s++) {
    const found = searchScaleAndMin(values.subarray(subBlock * s, subBlock * (s + 1)), maxCode);
    wanted.push(found);
    if (found.scale > largestScale) largestScale = found.scale;
    if (found.min > largestMin) largestMin = found.min;
  }
  const scale = writeHalf(block, scaleAt, largestScale / maxScale);
  const min = writeHalf(block, minAt, largestMin / maxScale);
  const scales = new Uint8Array(count);
  const mins = new Uint8Array(count);
  const codes = new Uint8Array(256);
  for (let s = 0; s < count; s++) {
    scales[s] = scale === 0 ? 0 : nearestWithin(wanted[s]!.scale / scale, 0, maxScale);
    mins[s] = min === 0 ? 0 : nearestWithin(wanted[s]!.min / min, 0, maxScale);
    const step = scale * scales[s]!;
    if (step === 0) continue;
    const below = min * mins[s]!;
    for (let i = subBlock * s; i < subBlock * (s + 1); i++)
      codes[i] = nearestWithin((values[i]! + below) / step, 0, maxCode);
  }
  return { scales, mins, codes };
}

/** 2-bit codes: byte i of each half of 128 holds elements i, i + 32, i + 64, i + 96 from its low bits up. */
function writeTwoBits(block: DataView, at: number, codes: Uint8Array): void {
  for (let half = 0; half < 2; half++) {
    for (let i = 0; i < 32; i++) {
      let byte = 0;
      for (let p = 0; p < 4; p++) byte |= codes[128 * half + 32 * p + i]! << (2 * p);
      block.setUint8(at + 32 * half + i, byte);
    }
  }
}

/** 4-bit codes: byte i of each 64 elements holds element i and element i + 32. */
function writeNibblePairs(block: DataView, at: number, codes: Uint8Array): void {
  for (let pair = 0; pair < 4; pair++) {
    for (let i = 0; i < 32; i++) {
      block.setUint8(at + 32 * pair + i, codes[64 * pair + i]! | (codes[64 * pair + 32 + i]! << 4));
    }
  }
}

/** 8 scales and 8 minimums of 6 bits in 12 bytes; those of sub-blocks 4..7 keep their upper 2 bits above the first ones. */
function writeSixBitPairs(block: DataView, at: number, scales: Uint8Array, mins: Uint8Array): void {
  for (let s = 0; s < 4; s++) {
    block.setUint8(at + s, scales[s]! | ((scales[s + 4]! >> 4) << 6));
    block.setUint8(at + 4 + s, mins[s]! | ((mins[s + 4]! >> 4) << 6));
    block.setUint8(at + 8 + s, (scales[s + 4]! & 15) | ((mins[s + 4]! & 15) << 4));
  }
}
