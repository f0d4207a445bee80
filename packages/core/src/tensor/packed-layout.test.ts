import { describe, expect, it } from 'vitest';
import { InvalidArgumentError, InvalidModelError } from '../errors/errors.ts';
import { type QuantizedDtype, type WeightDtype, weightByteLength, weightDtypes } from './dtypes.ts';
import { f8e4m3Values } from './formats/f8-format.ts';
import { f16ToF32 } from './half.ts';
import { packedByteLength, packMatrix, tileRows } from './packed-layout.ts';
import { splitQuantizedBlocks } from './quantized-blocks.ts';

/** Whole blocks of bytes that differ from their neighbours, so that a byte at a wrong place is seen. */
function fileBytes(dtype: WeightDtype, numElements: number): Uint8Array {
  const { blockBytes } = weightDtypes[dtype];
  const length = weightByteLength(dtype, numElements);
  const bytes = Uint8Array.from({ length }, (_, i) => (i * 167 + (i >> 8) * 29) & 255);
  for (let at = 0; at < length; at += blockBytes) {
    // A zero point is at most 16, and 0x7f and 0xff are NaN.
    if (dtype.startsWith('int4')) bytes.set([bytes[at]! & 15, 0], at + 2);
    if (dtype === 'f8_e4m3')
      for (let i = 4; i < blockBytes; i++) if ((bytes[at + i]! & 0x7f) === 0x7f) bytes[at + i]!--;
  }
  return bytes;
}

/** Types whose canonical block is their file block, and the bytes in front of their codes. */
const sameOrder = { f32: 0, f16: 0, bf16: 0, q8_0: 2, q4_0: 2, q4_1: 4, iq4_nl: 2, int4_g32: 4, int4_g128: 4 } as const;

/** Where byte `offset` of block `block` of row `row` lies in the packed matrix, worked out from the sentences of the layout. */
function packedPlace(
  dtype: keyof typeof sameOrder,
  columns: number,
  row: number,
  block: number,
  offset: number,
): number {
  const { blockElements, blockBytes } = weightDtypes[dtype];
  const tile = Math.floor(row / tileRows);
  const lane = row % tileRows;
  const tileBytes = tileRows * (columns / blockElements) * blockBytes;
  const blockStart = tile * tileBytes + block * tileRows * blockBytes;
  if (blockElements === 1) return blockStart + lane * blockBytes + offset;
  const headBytes = sameOrder[dtype];
  if (offset < headBytes) {
    const field = Math.floor(offset / 2);
    return blockStart + field * 2 * tileRows + lane * 2 + (offset % 2);
  }
  const code = offset - headBytes;
  return blockStart + headBytes * tileRows + Math.floor(code / 4) * 4 * tileRows + lane * 4 + (code % 4);
}

describe('packMatrix of types that keep their order', () => {
  for (const dtype of Object.keys(sameOrder) as (keyof typeof sameOrder)[]) {
    const { blockElements, blockBytes } = weightDtypes[dtype];
    for (const rows of [1, 7, 8, 9, 17]) {
      for (const blocks of [1, 3]) {
        it(`${dtype}: puts every byte of ${rows} rows of ${blocks} blocks where the layout says, and zeros elsewhere`, () => {
          const columns = blocks * blockElements;
          const bytes = fileBytes(dtype, rows * columns);
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
});

/** What a kernel that knows the layout reads for one row of one block of a tile. `at` is the start of the block. */
class TileReader {
  readonly #view: DataView;
  readonly #lane: number;
  #at: number;

  constructor(packed: Uint8Array, at: number, lane: number) {
    this.#view = new DataView(packed.buffer);
    this.#at = at;
    this.#lane = lane;
  }

  half(): number {
    return f16ToF32(this.#view.getUint16(this.#take(2), true));
  }

  signedBytes(count: number): number[] {
    return Array.from({ length: count }, () => this.#view.getInt8(this.#take(1)));
  }

  bytes(count: number): number[] {
    return this.signedBytes(count).map((byte) => byte & 255);
  }

  /** The bits of 32 elements, from planes of 4, 2 or 1 bits: plane after plane from the lowest bits up. */
  codes(planes: readonly (4 | 2 | 1)[]): number[] {
    const codes = new Array<number>(32).fill(0);
    let shift = 0;
    for (const bits of planes) {
      const groups = Array.from({ length: bits }, () => this.#view.getUint32(this.#take(4), true));
      for (let k = 0; k < 32; k++) {
        const [g, j] = [k >> 2, k & 3];
        // Group g of the elements lies in group g mod (number of groups), as so many bits of each byte.
        const byte = groups[g % bits]! >>> (8 * j);
        codes[k]! |= ((byte >> (bits * Math.floor(g / bits))) & ((1 << bits) - 1)) << shift;
      }
      shift += bits;
    }
    return codes;
  }

  #take(unit: number): number {
    const place = this.#at + this.#lane * unit;
    this.#at += unit * tileRows;
    return place;
  }
}

interface Layout {
  /** Reads what stands before the codes, as `splitQuantizedBlocks` gives it: scales, sub-scales and minimums of a block. */
  header(tile: TileReader): { scale: number; subScales?: number[]; mins?: number[] };
  readonly planes: readonly (4 | 2 | 1)[];
  /** The code that stored bits stand for. */
  code?(bits: number): number;
}

const twice = (values: readonly number[]) => values.flatMap((value) => [value, value]);
const table = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const sixBits = (tile: TileReader) => {
  const [scale, dmin] = [tile.half(), tile.half()];
  return { scale, subScales: twice(tile.bytes(8)), mins: tile.bytes(8).map((min) => -(dmin * min)) };
};

const reordered: Partial<Record<QuantizedDtype, Layout>> = {
  q5_0: { header: (tile) => ({ scale: tile.half() }), planes: [4, 1], code: (bits) => bits - 16 },
  q5_1: { header: (tile) => ({ scale: tile.half(), mins: [tile.half()] }), planes: [4, 1] },
  q2_k: {
    header: (tile) => {
      const [scale, dmin] = [tile.half(), tile.half()];
      const pairs = tile.bytes(16);
      return { scale, subScales: pairs.map((byte) => byte & 15), mins: pairs.map((byte) => -(dmin * (byte >> 4))) };
    },
    planes: [2],
  },
  q3_k: {
    header: (tile) => {
      const scale = tile.half();
      const [low, high] = [tile.bytes(8), tile.bytes(4)];
      const subScales = Array.from({ length: 16 }, (_, s) => {
        const upper = (high[s % 4]! >> (2 * Math.floor(s / 4))) & 3;
        return ((s < 8 ? low[s]! & 15 : low[s - 8]! >> 4) | (upper << 4)) - 32;
      });
      return { scale, subScales };
    },
    planes: [2, 1],
    code: (bits) => bits - 4,
  },
  q4_k: { header: sixBits, planes: [4] },
  q5_k: { header: sixBits, planes: [4, 1] },
  q6_k: {
    header: (tile) => ({ scale: tile.half(), subScales: tile.signedBytes(16) }),
    planes: [4, 2],
    code: (bits) => bits - 32,
  },
  iq4_xs: {
    header: (tile) => ({ scale: tile.half(), subScales: twice(tile.signedBytes(8)) }),
    planes: [4],
    code: (bits) => table[bits]!,
  },
};

describe('packMatrix of types that are reordered', () => {
  it.each(Object.keys(reordered) as QuantizedDtype[])('%s: a reader of the layout finds every number', (dtype) => {
    const { header, planes, code = (bits) => bits } = reordered[dtype]!;
    const { blockElements, blockBytes, packedBlockBytes } = weightDtypes[dtype];
    const [rows, blocksPerRow] = [10, 2];
    const columns = blocksPerRow * blockElements;
    const bytes = fileBytes(dtype, rows * columns);
    const packed = packMatrix(dtype, rows, columns, bytes);
    expect(packed.length).toBe(2 * tileRows * blocksPerRow * packedBlockBytes);
    for (let row = 0; row < rows; row++) {
      for (let block = 0; block < blocksPerRow; block++) {
        const fileAt = (row * blocksPerRow + block) * blockBytes;
        const expected = splitQuantizedBlocks(dtype, bytes.subarray(fileAt, fileAt + blockBytes));
        const tileAt = (Math.floor(row / tileRows) * blocksPerRow + block) * tileRows * packedBlockBytes;
        const tile = new TileReader(packed, tileAt, row % tileRows);
        const { scale, subScales, mins } = header(tile);
        const codes = Array.from({ length: blockElements / 32 }, () => tile.codes(planes).map(code)).flat();
        expect(scale).toBe(expected.scales[0]);
        expect(subScales).toEqual(expected.subScales ? [...expected.subScales] : undefined);
        expect(mins).toEqual(expected.mins ? [...expected.mins] : undefined);
        expect(codes).toEqual([...expected.codes]);
      }
    }
  });

  it.each(Object.keys(reordered) as QuantizedDtype[])('%s: fills the last tile with zero rows', (dtype) => {
    const { blockElements, blockBytes, packedBlockBytes } = weightDtypes[dtype];
    const packed = packMatrix(dtype, 1, blockElements, new Uint8Array(blockBytes).fill(255));
    expect(packed.filter((byte) => byte !== 0).length).toBeLessThanOrEqual(packedBlockBytes);
  });

  it('f8_e4m3: the scale as it is, then each element as the f16 of its code, row beside row', () => {
    const bytes = fileBytes('f8_e4m3', 9 * 64);
    const packed = new DataView(packMatrix('f8_e4m3', 9, 64, bytes).buffer);
    expect(packed.byteLength).toBe(2 * 2 * 8 * 68);
    for (let row = 0; row < 9; row++) {
      for (let block = 0; block < 2; block++) {
        const from = (row * 2 + block) * 36;
        const at = ((row >> 3) * 2 + block) * 8 * 68;
        const lane = row & 7;
        const scale = [0, 1, 2, 3].map((i) => packed.getUint8(at + 4 * lane + i));
        expect(scale).toEqual([...bytes.subarray(from, from + 4)]);
        for (let k = 0; k < 32; k++) {
          const element = f16ToF32(packed.getUint16(at + 32 + 16 * k + 2 * lane, true));
          expect(element).toBe(f8e4m3Values[bytes[from + 4 + k]!]);
        }
      }
    }
  });

  it('covers every type', () => {
    const tested = [...Object.keys(sameOrder), ...Object.keys(reordered), 'f8_e4m3'];
    expect(tested.sort()).toEqual(Object.keys(weightDtypes).sort());
  });
});

describe('packMatrix', () => {
  it('takes packed row i from file row rowOrder[i]', () => {
    for (const dtype of ['f32', 'q4_k'] as const) {
      const columns = weightDtypes[dtype].blockElements * 3;
      const rowBytes = weightByteLength(dtype, columns);
      const bytes = fileBytes(dtype, 10 * columns);
      const order = Uint32Array.of(9, 0, 8, 1, 7, 2, 6, 3, 5, 4);
      const inOrder = new Uint8Array(bytes.length);
      for (const [i, row] of order.entries()) {
        inOrder.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), i * rowBytes);
      }
      expect(packMatrix(dtype, 10, columns, bytes, order)).toEqual(packMatrix(dtype, 10, columns, inOrder));
    }
  });

  it('packs a multiple of 8 rows into at most 1.03 times the bytes of the file, but for f8_e4m3', () => {
    for (const dtype of Object.keys(weightDtypes) as WeightDtype[]) {
      const ratio = packedByteLength(dtype, 16, 256) / weightByteLength(dtype, 16 * 256);
      if (dtype === 'f8_e4m3') expect(ratio).toBe(68 / 36);
      else expect(ratio).toBeLessThanOrEqual(1.03);
    }
  });

  it('refuses sizes that disagree', () => {
    expect(() => packMatrix('q4_0', 8, 33, new Uint8Array(8 * 18))).toThrow(InvalidArgumentError);
    expect(() => packMatrix('q6_k', 8, 32, new Uint8Array(8 * 210))).toThrow(/a multiple of 256 columns, got 32/);
    expect(() => packMatrix('f16', 8, 4, new Uint8Array(63))).toThrow(/takes 64 bytes, got 63/);
    expect(() => packMatrix('f16', 8, 4, new Uint8Array(64), new Uint32Array(7))).toThrow(/8 entries, got 7/);
    expect(() => packMatrix('f16', 2, 1, new Uint8Array(4), Uint32Array.of(0, 2))).toThrow(/row 2/);
  });

  it('refuses blocks that mean nothing', () => {
    const bytes = new Uint8Array(36);
    bytes[20] = 0x7f;
    expect(() => packMatrix('f8_e4m3', 1, 32, bytes)).toThrow(InvalidModelError);
    expect(() => packMatrix('f8_e4m3', 1, 32, bytes)).toThrow(/f8_e4m3 cannot be packed: an e4m3 weight is NaN/);
  });
});
