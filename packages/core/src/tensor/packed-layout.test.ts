import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../errors/errors.ts';
import { type WeightDtype, weightByteLength, weightDtypes } from './dtypes.ts';
import { packedByteLength, packMatrix, tileRows } from './packed-layout.ts';

const dtypes = ['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1'] as const;

/** Bytes that differ from their neighbours, so that a byte at a wrong place is seen. */
function fileBytes(length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (i * 167 + (i >> 8) * 29) & 255);
}

/** Where byte `offset` of block `block` of row `row` lies in the packed matrix, worked out from the sentences of the layout. */
function packedPlace(dtype: WeightDtype, columns: number, row: number, block: number, offset: number): number {
  const { blockElements, blockBytes } = weightDtypes[dtype];
  const tile = Math.floor(row / tileRows);
  const lane = row % tileRows;
  const tileBytes = tileRows * (columns / blockElements) * blockBytes;
  const blockStart = tile * tileBytes + block * tileRows * blockBytes;
  if (blockElements === 1) return blockStart + lane * blockBytes + offset;
  const headBytes = dtype === 'q4_1' ? 4 : 2;
  if (offset < headBytes) {
    const field = Math.floor(offset / 2);
    return blockStart + field * 2 * tileRows + lane * 2 + (offset % 2);
  }
  const code = offset - headBytes;
  return blockStart + headBytes * tileRows + Math.floor(code / 4) * 4 * tileRows + lane * 4 + (code % 4);
}

describe('packMatrix', () => {
  for (const dtype of dtypes) {
    const { blockElements, blockBytes } = weightDtypes[dtype];
    for (const rows of [1, 7, 8, 9, 17]) {
      for (const blocks of [1, 3]) {
        it(`${dtype}: puts every byte of ${rows} rows of ${blocks} blocks where the layout says, and zeros elsewhere`, () => {
          const columns = blocks * blockElements;
          const bytes = fileBytes(rows * weightByteLength(dtype, columns));
          const packed = packMatrix(dtype, rows, columns, bytes);
          expect(packed.length).toBe(packedByteLength(dtype, rows, columns));
          const expected = new Uint8Array(packed.length);
          let from = 0;
          for (let row = 0; row < rows; row++) {
            for (let block = 0; block < blocks; block++) {
              for (let offset = 0; offset < blockBytes; offset++) {
                expected[packedPlace(dtype, columns, row, block, offset)] = bytes[from++]!;
              }
            }
          }
          expect(packed).toEqual(expected);
        });
      }
    }
  }

  it('takes packed row i from file row rowOrder[i]', () => {
    const rowBytes = 4 * 3;
    const bytes = fileBytes(10 * rowBytes);
    const order = Uint32Array.of(9, 0, 8, 1, 7, 2, 6, 3, 5, 4);
    const reordered = new Uint8Array(bytes.length);
    for (const [i, row] of order.entries()) {
      reordered.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), i * rowBytes);
    }
    expect(packMatrix('f32', 10, 3, bytes, order)).toEqual(packMatrix('f32', 10, 3, reordered));
  });

  it('packs a multiple of 8 rows into exactly the bytes of the file', () => {
    for (const dtype of dtypes) {
      expect(packedByteLength(dtype, 16, 64)).toBe(weightByteLength(dtype, 16 * 64));
    }
  });

  it('refuses sizes that disagree', () => {
    expect(() => packMatrix('q4_0', 8, 33, new Uint8Array(8 * 18))).toThrow(InvalidArgumentError);
    expect(() => packMatrix('f16', 8, 4, new Uint8Array(63))).toThrow(/takes 64 bytes, got 63/);
    expect(() => packMatrix('f16', 8, 4, new Uint8Array(64), new Uint32Array(7))).toThrow(/8 entries, got 7/);
    expect(() => packMatrix('f16', 2, 1, new Uint8Array(4), Uint32Array.of(0, 2))).toThrow(/row 2/);
  });
});
