import { InvalidArgumentError, type SampleRow } from '@hearth/core';

/** Numbers of a row; the order is that of native/binding/sampling_rows.cc. */
const rowNumbers = 8;

/** Ranges of the fields, both ends included. Whole numbers are exact up to 2^53. */
const ranges = {
  temperature: { most: Number.MAX_VALUE, whole: false },
  topK: { most: Number.MAX_SAFE_INTEGER, whole: true },
  topP: { most: 1, whole: false },
  minP: { most: 1, whole: false },
  choiceIndex: { most: 2 ** 32 - 1, whole: true },
  numCompletionTokens: { most: Number.MAX_SAFE_INTEGER, whole: true },
} as const;

/**
 * The sampling parameters of all output rows as the native step reads them, [numRows, 8].
 * @throws InvalidArgumentError naming the row and the field
 */
export function encodeSampleRows(rows: readonly SampleRow[], numOutputRows: number): Float64Array {
  if (rows.length !== numOutputRows) {
    throw new InvalidArgumentError(
      `sample needs one row of parameters per output row: ${numOutputRows}, got ${rows.length}.`,
    );
  }
  const numbers = new Float64Array(rows.length * rowNumbers);
  for (const [index, row] of rows.entries()) {
    checkRow(row, index);
    const { temperature, topK, topP, minP, seed, choiceIndex, numCompletionTokens } = row;
    const [low, high] = [Number(seed & 0xffffffffn), Number(seed >> 32n)];
    numbers.set([temperature, topK, topP, minP, low, high, choiceIndex, numCompletionTokens], index * rowNumbers);
  }
  return numbers;
}

function checkRow(row: SampleRow, index: number): void {
  for (const [field, { most, whole }] of Object.entries(ranges)) {
    const value = row[field as keyof typeof ranges];
    if (value >= 0 && value <= most && (!whole || Number.isInteger(value))) continue;
    const kind = whole ? 'a whole number' : 'a number';
    throw new InvalidArgumentError(`${field} of output row ${index} must be ${kind} from 0 to ${most}, got ${value}.`, {
      details: { field, least: 0, most, received: value },
    });
  }
  const { seed } = row;
  if (typeof seed !== 'bigint' || seed < 0n || seed >= 2n ** 64n) {
    throw new InvalidArgumentError(
      `seed of output row ${index} must be a bigint from 0 to 2^64 - 1, got ${String(seed)}.`,
    );
  }
}
