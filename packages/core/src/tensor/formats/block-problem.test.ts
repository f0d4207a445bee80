import { describe, expect, it } from 'vitest';
import { type WeightDtype, weightDtypes } from '../dtypes.ts';
import { blockProblem } from './block-problem.ts';

/** Three blocks of zeros with one byte changed. */
function blocks(dtype: WeightDtype, block: number, at: number, byte: number): Uint8Array {
  const { blockBytes } = weightDtypes[dtype];
  const bytes = new Uint8Array(3 * blockBytes);
  bytes[block * blockBytes + at] = byte;
  return bytes;
}

describe('blockProblem', () => {
  it.each([
    ['int4_g32', 2, 2, 17, /zero point 17/],
    ['int4_g128', 1, 3, 1, /zero point 256/],
    ['f8_e4m3', 0, 4, 0x7f, /NaN \(code 0x7f\)/],
    ['f8_e4m3', 2, 35, 0xff, /NaN \(code 0xff\)/],
  ] as const)('%s: finds what block %i has wrong at byte %i', (dtype, block, at, byte, problem) => {
    expect(blockProblem(dtype, blocks(dtype, block, at, byte))).toMatch(problem);
  });

  it.each([
    ['int4_g32', 2, 16],
    ['f8_e4m3', 4, 0x7e],
    ['f8_e4m3', 3, 0x7f], // of the scale
  ] as const)('%s: has nothing against byte %i being %i', (dtype, at, byte) => {
    expect(blockProblem(dtype, blocks(dtype, 1, at, byte))).toBeNull();
  });

  it('takes every bit pattern of the other types', () => {
    for (const dtype of Object.keys(weightDtypes) as WeightDtype[]) {
      if (dtype === 'f8_e4m3' || dtype.startsWith('int4')) continue;
      expect(blockProblem(dtype, new Uint8Array(weightDtypes[dtype].blockBytes).fill(255))).toBeNull();
    }
  });
});
