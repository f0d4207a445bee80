import type { DerivedFile } from '@hearth/core';
import type { CheckpointTensor } from '../checkpoint.ts';
import { slabFile } from '../io/slab-file.ts';
import { TimeSlice } from '../io/time-slice.ts';
import { gatherColumns } from './gather-columns.ts';

/** Bytes of the file that are looked at in one go: a few milliseconds of work. */
const pieceBytes = 2 ** 18;

/**
 * Bytes of the transposed matrix that are made in one pass over the file and held until they were read. A pass reads the whole
 * matrix, so all matrices of GPT-2 up to 774M take one or two; smaller slabs would save memory and read more often.
 */
const slabBytes = 16 * 2 ** 20;

/**
 * A matrix of plain floats, transposed, behind the interface of a file. Rows of the result are made slab by slab; whoever
 * reads front to back has one slab in memory at a time.
 *
 * @param stored [rows, columns] as the file has them; the result is [columns, rows]
 * @param elementBytes 2 or 4
 * @param maxSlabBytes smaller in tests
 */
export function transposedFile(
  tensor: CheckpointTensor,
  stored: readonly [number, number],
  elementBytes: number,
  maxSlabBytes = slabBytes,
): DerivedFile {
  const [rows, columns] = stored;
  const rowBytes = rows * elementBytes;
  const slabRows = Math.max(1, Math.floor(maxSlabBytes / rowBytes));
  async function makeSlab(index: number): Promise<Uint8Array> {
    const first = index * slabRows;
    const numElements = Math.min(slabRows, columns - first) * rows;
    const target = elementBytes === 2 ? new Uint16Array(numElements) : new Uint32Array(numElements);
    await gatherColumns(storedElements(tensor, elementBytes), stored, first, target);
    return new Uint8Array(target.buffer);
  }

  const path = `${tensor.file.path} (${tensor.name}, transposed)`;
  return slabFile(path, tensor.byteLength, slabRows * rowBytes, makeSlab, tensor);
}

async function* storedElements(
  { file, offset, byteLength }: CheckpointTensor,
  elementBytes: number,
): AsyncGenerator<Uint16Array | Uint32Array> {
  const slice = new TimeSlice();
  for (let start = 0; start < byteLength; start += pieceBytes) {
    if (slice.isSpent) await slice.next();
    const read = await file.read(offset + start, Math.min(pieceBytes, byteLength - start));
    const bytes = read.byteOffset % elementBytes === 0 ? read : read.slice();
    const numElements = bytes.length / elementBytes;
    yield elementBytes === 2
      ? new Uint16Array(bytes.buffer, bytes.byteOffset, numElements)
      : new Uint32Array(bytes.buffer, bytes.byteOffset, numElements);
  }
}
