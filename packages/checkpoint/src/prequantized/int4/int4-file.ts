import { type DerivedFile, InvalidModelError, weightByteLength, weightDtypes } from '@hearth/core';
import { readStrip } from '../../io/read-strip.ts';
import { slabFile } from '../../io/slab-file.ts';
import { TimeSlice } from '../../io/time-slice.ts';
import type { Int4Matrix } from './int4-matrix.ts';
import { readScales } from './read-scales.ts';
import { codesAlong, codesDownwards } from './unpack-codes.ts';

/**
 * Bytes of packed rows that are made at a time, next to which the words they come from are in memory. Words lie with the rows
 * of the matrix side by side, so each slab is a strip of all of `qweight`; matrices of models up to 13B take one or two.
 */
const slabBytes = 32 * 2 ** 20;

/** Codes that are unpacked and packed in one go: a millisecond or two of work. */
const tileCodes = 2 ** 18;

/**
 * The rows of an AWQ or GPTQ matrix as blocks of `int4_g32` or `int4_g128`, worked out when they are read.
 *
 * @param maxSlabBytes smaller in tests
 * @throws InvalidModelError from `read`, for scales and zero points that make no sense; it names the tensor and the place
 */
export function int4File(matrix: Int4Matrix, maxSlabBytes = slabBytes): DerivedFile {
  const { name, rows, columns, dtype, qweight } = matrix;
  const rowBytes = weightByteLength(dtype, columns);
  // Eight rows share the words of zero points.
  const slabRows = Math.max(8, 8 * Math.floor(maxSlabBytes / rowBytes / 8));
  const path = `${qweight.file.path} (${name}, packed from ${qweight.name})`;
  const makeSlab = (index: number) => {
    const first = index * slabRows;
    return packedRows(matrix, first, Math.min(slabRows, rows - first));
  };
  return slabFile(path, rows * rowBytes, slabRows * rowBytes, makeSlab, qweight);
}

/** @param first a multiple of 8, as is `numRows` */
async function packedRows(matrix: Int4Matrix, first: number, numRows: number): Promise<Uint8Array> {
  const { rows, columns, dtype, packing, qweight } = matrix;
  const slice = new TimeSlice();
  const scales = await readScales(matrix, first, numRows, slice);
  const zeros = await readZeros(matrix, first, numRows, slice);
  const isAcross = packing.neighbours === 'columns';
  // Bytes of a row of the matrix within a row of words.
  const share = isAcross ? 4 : 1 / 2;
  const words = words32(await readStrip(qweight, rows * share, first * share, numRows * share, slice));
  const stripWords = (numRows * share) / 4;
  const rowBytes = weightByteLength(dtype, columns);
  const packed = new Uint8Array(numRows * rowBytes);
  const tileRows = Math.max(8, 8 * Math.floor(tileCodes / columns / 8));
  for (let row = 0; row < numRows; row += tileRows) {
    if (slice.isSpent) await slice.next();
    const count = Math.min(tileRows, numRows - row);
    const codes = isAcross
      ? codesDownwards(words, stripWords, row, count)
      : codesAlong(words, stripWords, row / 8, count / 8, packing.nibbleOrder);
    const tile = packed.subarray(row * rowBytes, (row + count) * rowBytes);
    writeCodes(tile, matrix, codes);
    writeHeads(tile, matrix, (group) => group * numRows + row, scales, zeros);
  }
  return packed;
}

/** Zero points [numGroups, numRows]. */
async function readZeros(
  { name, rows, packing, qzeros }: Int4Matrix,
  first: number,
  numRows: number,
  slice: TimeSlice,
): Promise<Uint8Array> {
  const words = words32(await readStrip(qzeros, rows / 2, first / 2, numRows / 2, slice));
  const stored = codesAlong(words, numRows / 8, 0, numRows / 8, packing.nibbleOrder);
  // A stored 15 is the zero point 0: codes have 4 bits, so no quantizer chooses 16.
  const zeros = packing.zeroOffset === 0 ? stored : stored.map((zero) => (zero + 1) & 15);
  if (packing.isSymmetric && packing.zeroOffset === 1 && zeros.every((zero) => zero === 9)) {
    throw new InvalidModelError(
      `${qzeros.file.path}: tensor "${qzeros.name}" holds 8 throughout, so the zero points of "${name}" would be 9, where config.json says that they are symmetric. The file is of checkpoint_format gptq_v2: say so in its quantization_config.`,
      { details: { path: qzeros.file.path, tensor: qzeros.name } },
    );
  }
  return zeros;
}

/**
 * Scale and zero point of every block. Blocks are in the order of groups, and each lies within one.
 * @param placeOf where scales and zeros have those of a group, for the first row of `packed`
 */
function writeHeads(
  packed: Uint8Array,
  matrix: Int4Matrix,
  placeOf: (group: number) => number,
  scales: Uint16Array,
  zeros: Uint8Array,
): void {
  const { columns, dtype, groupSize } = matrix;
  const { blockElements, blockBytes } = weightDtypes[dtype];
  const numBlocks = columns / blockElements;
  const numRows = packed.length / (numBlocks * blockBytes);
  const view = new DataView(packed.buffer, packed.byteOffset, packed.length);
  for (let row = 0, at = 0; row < numRows; row++) {
    for (let block = 0; block < numBlocks; block++, at += blockBytes) {
      const place = placeOf(Math.floor((block * blockElements) / groupSize)) + row;
      view.setUint16(at, scales[place]!, true);
      view.setUint16(at + 2, zeros[place]!, true);
    }
  }
}

/** @param codes [columns, rows of `packed`], columns in the order of the matrix */
function writeCodes(packed: Uint8Array, matrix: Int4Matrix, codes: Uint8Array): void {
  const { columns, dtype, columnOrder } = matrix;
  const { blockElements, blockBytes } = weightDtypes[dtype];
  const rowBytes = weightByteLength(dtype, columns);
  const numRows = packed.length / rowBytes;
  for (let chunk = 0; chunk < columns; chunk += 32) {
    const block = Math.floor(chunk / blockElements);
    const start = block * blockBytes + 4 + (chunk - block * blockElements) / 2;
    for (let i = 0; i < 16; i++) {
      const low = (columnOrder ? columnOrder[chunk + i]! : chunk + i) * numRows;
      const high = (columnOrder ? columnOrder[chunk + 16 + i]! : chunk + 16 + i) * numRows;
      for (let row = 0, at = start + i; row < numRows; row++, at += rowBytes) {
        packed[at] = codes[low + row]! | (codes[high + row]! << 4);
      }
    }
  }
}

/** @param bytes at the start of a buffer of their own */
function words32(bytes: Uint8Array): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}
