import { DerivedFile, decodeElements, InvalidModelError, type WeightDtype } from '@hearth/core';
import { TimeSlice } from '../../io/time-slice.ts';
import type { Fp8Matrix } from './fp8-matrix.ts';

const blockElements = 32;
const blockBytes = 36;

/** Blocks that are read and written in one go: below a millisecond of work. */
const pieceBlocks = 2 ** 13;

/**
 * The codes of an fp8 matrix in blocks of `f8_e4m3` with their scale, worked out when they are read. The scales are read once
 * and kept, 4 bytes for each block of the checkpoint.
 *
 * @throws InvalidModelError from `read`, for codes that are NaN and scales that are not finite; it names the tensor and place
 */
export function fp8File(matrix: Fp8Matrix): DerivedFile {
  const { codes, scales } = matrix;
  const numBlocks = codes.byteLength / blockElements;
  let read: Promise<Float32Array> | undefined;
  const scaleValues = () => {
    read ??= readScales(matrix).catch((error) => {
      read = undefined;
      throw error;
    });
    return read;
  };
  const path = `${codes.file.path} (${codes.name} with ${scales.name})`;
  return new DerivedFile(path, numBlocks * blockBytes, async (offset, length) => {
    const values = await scaleValues();
    const first = Math.floor(offset / blockBytes);
    const last = Math.ceil((offset + length) / blockBytes);
    const bytes = new Uint8Array((last - first) * blockBytes);
    const slice = new TimeSlice();
    for (let block = first; block < last; block += pieceBlocks) {
      if (slice.isSpent) await slice.next();
      const count = Math.min(pieceBlocks, last - block);
      const start = (block - first) * blockBytes;
      await writeBlocks(bytes.subarray(start, start + count * blockBytes), matrix, values, block);
    }
    return bytes.subarray(offset - first * blockBytes, offset - first * blockBytes + length);
  });
}

/** @param first number of the first block in the matrix */
async function writeBlocks(target: Uint8Array, matrix: Fp8Matrix, scales: Float32Array, first: number): Promise<void> {
  const { codes, block } = matrix;
  const columns = codes.shape[1]!;
  const scaleColumns = Math.ceil(columns / block[1]);
  const read = await codes.file.read(
    codes.offset + first * blockElements,
    (target.length / blockBytes) * blockElements,
  );
  for (let i = 0; i < read.length; i++) {
    if ((read[i]! & 0x7f) === 0x7f) refuseNan(matrix, first * blockElements + i, read[i]!);
  }
  const view = new DataView(target.buffer, target.byteOffset, target.length);
  for (let from = 0, at = 0; from < read.length; from += blockElements, at += blockBytes) {
    const element = first * blockElements + from;
    const row = Math.floor(element / columns);
    const scaleRow = Math.floor(row / block[0]);
    const scaleColumn = Math.floor((element - row * columns) / block[1]);
    view.setFloat32(at, scales[scaleRow * scaleColumns + scaleColumn]!, true);
    target.set(read.subarray(from, from + blockElements), at + 4);
  }
}

async function readScales({ scales }: Fp8Matrix): Promise<Float32Array> {
  const bytes = await scales.file.read(scales.offset, scales.byteLength);
  const values = decodeElements(scales.dtype as WeightDtype, bytes);
  const bad = values.findIndex((value) => !Number.isFinite(value));
  if (bad >= 0) {
    throw new InvalidModelError(
      `${scales.file.path}: tensor "${scales.name}" has the scale ${values[bad]} (number ${bad}); scales are finite.`,
      { details: { path: scales.file.path, tensor: scales.name, index: bad } },
    );
  }
  return values;
}

function refuseNan({ codes }: Fp8Matrix, element: number, code: number): never {
  const columns = codes.shape[1]!;
  const [row, column] = [Math.floor(element / columns), element % columns];
  throw new InvalidModelError(
    `${codes.file.path}: tensor "${codes.name}" is NaN at row ${row}, column ${column} (code 0x${code.toString(16)}).`,
    { details: { path: codes.file.path, tensor: codes.name, row, column } },
  );
}
