import { type RowOutput, UnsupportedError } from '@hearth/core';

/** Numbers of a row; the order is that of native/binding/row_outputs.cc. */
const rowNumbers = 9;

/** Numbers of native/step/row_output.h. */
const rowKindNumbers: Readonly<Record<RowOutput['kind'], number>> = { logits: 0, logprob: 1, sample: 2 };

/** What is asked of the output rows, checked, as the native step reads it: [numRows, 9]. */
export function encodeRowOutputs(rows: readonly RowOutput[]): Float64Array {
  const numbers = new Float64Array(rows.length * rowNumbers);
  for (const [index, row] of rows.entries()) {
    const start = index * rowNumbers;
    numbers[start] = rowKindNumbers[row.kind];
    if (row.kind === 'logprob') numbers[start + 1] = row.tokenId;
    if (row.kind !== 'sample') continue;
    const { temperature, topK, topP, minP, seed, choiceIndex, completionTokenIds } = row;
    const [low, high] = [Number(seed & 0xffffffffn), Number(seed >> 32n)];
    numbers.set([temperature, topK, topP, minP, low, high, choiceIndex, completionTokenIds.length], start + 1);
    const isPlain = row.typicalP === 1 && row.repetitionPenalty === 1 && row.logitBias.size === 0 && !row.mask;
    if (isPlain && row.frequencyPenalty === 0 && row.presencePenalty === 0) continue;
    throw new UnsupportedError('The CPU backend samples without biases, penalties, masks and typical-p.');
  }
  return numbers;
}
