import { InvalidModelError } from '@hearth/core';

/**
 * Where the rows of a query or key projection lie in a Llama GGUF file.
 *
 * Rotary embedding turns pairs of rows of a head. Hugging Face pairs row i with row i + headDim / 2; GGUF files of Llama
 * keep the pairs of the original release side by side. So of head h, the row (half, i) of Hugging Face is row (i, half) of
 * the file:
 *
 *     rowOrder[h · headDim + half · headDim / 2 + i] = h · headDim + 2 · i + half
 *
 * @returns [rows]: row i of the Hugging Face tensor is row `rowOrder[i]` of the file
 * @throws InvalidModelError when the rows cannot be cut into heads of pairs
 */
export function ropeRowOrder(rows: number, numHeads: number, tensorName: string): Uint32Array {
  const headDim = rows / numHeads;
  if (!Number.isInteger(headDim) || headDim % 2 !== 0) {
    throw new InvalidModelError(
      `Tensor "${tensorName}" has ${rows} rows, which are not ${numHeads} heads of an even number of rows each.`,
      { details: { tensor: tensorName, rows, numHeads } },
    );
  }
  const order = new Uint32Array(rows);
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / headDim);
    const inHead = row % headDim;
    const half = inHead < headDim / 2 ? 0 : 1;
    const pair = inHead - half * (headDim / 2);
    order[row] = head * headDim + 2 * pair + half;
  }
  return order;
}
