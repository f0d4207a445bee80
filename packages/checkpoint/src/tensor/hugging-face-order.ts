import type { CheckpointTensor } from '../checkpoint.ts';
import { TimeSlice } from '../io/time-slice.ts';
import { gatherColumns } from './gather-columns.ts';

/** Elements of a transposed matrix that are put together in one pass over the stored ones. */
const slabElements = 4 * 2 ** 20;

/** Elements given out at a time: whole blocks of every quantized type, so that pieces can be encoded one by one. */
const pieceElements = 2 ** 14;

/**
 * The elements of a tensor as Hugging Face keeps them, from the stored ones: what a file adds is taken off, columns go to
 * their places, a transposed matrix is turned round.
 *
 * @param stored starts another pass over the decoded elements, rows in order; pieces of any length
 */
export async function* inHuggingFaceOrder(
  tensor: CheckpointTensor,
  stored: () => AsyncIterable<Float32Array>,
): AsyncGenerator<Float32Array> {
  const { plus, columnOrder } = tensor;
  if (tensor.transposed) {
    const rows = columnOrder ? () => withColumnsInOrder(columnOrder, stored()) : stored;
    yield* turnedRound(tensor.shape as readonly [number, number], rows);
  } else if (columnOrder) {
    yield* withColumnsInOrder(columnOrder, stored());
  } else if (plus !== undefined) {
    for await (const piece of stored()) yield piece.map((value) => value - plus);
  } else {
    yield* stored();
  }
}

/** @param shape [columns, rows] of a matrix that is stored as [rows, columns] */
async function* turnedRound(
  [columns, rows]: readonly [number, number],
  stored: () => AsyncIterable<Float32Array>,
): AsyncGenerator<Float32Array> {
  const slice = new TimeSlice();
  const slabColumns = Math.max(1, Math.floor(slabElements / rows));
  for (let first = 0; first < columns; first += slabColumns) {
    const slab = new Float32Array(Math.min(slabColumns, columns - first) * rows);
    await gatherColumns(stored(), [rows, columns], first, slab);
    for (let at = 0; at < slab.length; at += pieceElements) {
      if (slice.isSpent) await slice.next();
      yield slab.subarray(at, at + pieceElements);
    }
  }
}

async function* withColumnsInOrder(
  columnOrder: Uint32Array,
  stored: AsyncIterable<Float32Array>,
): AsyncGenerator<Float32Array> {
  let row = new Float32Array(columnOrder.length);
  let column = 0;
  for await (const piece of stored) {
    for (const value of piece) {
      row[columnOrder[column++]!] = value;
      if (column < row.length) continue;
      yield row;
      row = new Float32Array(columnOrder.length);
      column = 0;
    }
  }
}
