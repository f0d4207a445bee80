import type { RowOutput, SampleRow } from '@hearth/core';

/** What is asked of the output rows, as the native step reads it (native/binding/row_outputs.cc). */
export interface NativeRowOutputs {
  /** [numRows, 18], in the order of `Number` there. */
  readonly numbers: Float64Array;
  /** Of one row after the other: the tokens that penalties look at, then those that have a bias. */
  readonly tokenIds: Int32Array;
  /** Those of one row after the other. */
  readonly biases: Float32Array;
  /** ceil(vocabSize / 32) words of each row that has a mask. */
  readonly masks: Int32Array;
}

const rowNumbers = 18;

/** Numbers of native/step/row_outputs.h. */
const rowKindNumbers: Readonly<Record<RowOutput['kind'], number>> = { logits: 0, logprob: 1, sample: 2, hidden: 3 };

/**
 * Lays out what is asked of the output rows, which `checkRowOutputs` has checked, in one piece. Native code copies it, and
 * checks the tokens of histories.
 */
export function encodeRowOutputs(rows: readonly RowOutput[], vocabSize: number): NativeRowOutputs {
  const needs = rows.map((row) => (row.kind === 'sample' ? needsOf(row) : noNeeds));
  const numMaskWords = Math.ceil(vocabSize / 32);
  const encoded = {
    numbers: new Float64Array(rows.length * rowNumbers),
    tokenIds: new Int32Array(needs.reduce((sum, { numTokens, numBiased }) => sum + numTokens + numBiased, 0)),
    biases: new Float32Array(needs.reduce((sum, { numBiased }) => sum + numBiased, 0)),
    masks: new Int32Array(needs.reduce((sum, { hasMask }) => sum + (hasMask ? numMaskWords : 0), 0)),
  };
  let numTokenIds = 0;
  let numBiases = 0;
  let numWords = 0;
  for (const [index, row] of rows.entries()) {
    const numbers = encoded.numbers.subarray(index * rowNumbers, (index + 1) * rowNumbers);
    numbers[0] = rowKindNumbers[row.kind];
    if (row.kind === 'logprob') numbers[1] = row.tokenId;
    if (row.kind !== 'sample') continue;
    const need = needs[index]!;
    numbers.set(sampleNumbers(row, need), 2);
    writeLastTokens(row, need.numTokens, encoded.tokenIds, numTokenIds);
    numTokenIds += need.numTokens;
    for (const [tokenId, bias] of row.logitBias) {
      encoded.tokenIds[numTokenIds++] = tokenId;
      encoded.biases[numBiases++] = bias;
    }
    if (!row.mask) continue;
    encoded.masks.set(row.mask.subarray(0, numMaskWords), numWords);
    numWords += numMaskWords;
  }
  return encoded;
}

/** How much of what a row refers to goes to native code. */
interface RowNeeds {
  /** Last tokens of prompt and completion that the repetition penalty looks at; 0 when it is off. */
  readonly numRecent: number;
  /** Last tokens that the frequency and the presence penalty look at: the completion, or none. */
  readonly numGenerated: number;
  readonly numTokens: number;
  readonly numBiased: number;
  readonly hasMask: boolean;
}

const noNeeds: RowNeeds = { numRecent: 0, numGenerated: 0, numTokens: 0, numBiased: 0, hasMask: false };

function needsOf(row: SampleRow): RowNeeds {
  const { repetitionPenalty, repetitionWindow, frequencyPenalty, presencePenalty } = row;
  const numCompletion = row.completionTokenIds.length;
  const numAll = row.promptTokenIds.length + numCompletion;
  const window = repetitionWindow === -1 ? numAll : Math.min(repetitionWindow, numAll);
  const numRecent = repetitionPenalty === 1 ? 0 : window;
  const numGenerated = frequencyPenalty === 0 && presencePenalty === 0 ? 0 : numCompletion;
  const numTokens = Math.max(numRecent, numGenerated);
  return { numRecent, numGenerated, numTokens, numBiased: row.logitBias.size, hasMask: row.mask !== undefined };
}

function sampleNumbers(row: SampleRow, { numRecent, numGenerated, numBiased, hasMask }: RowNeeds): number[] {
  const { temperature, topK, topP, minP, typicalP, seed, choiceIndex, completionTokenIds } = row;
  const filters = [temperature, topK, topP, minP, typicalP];
  const draw = [Number(seed & 0xffffffffn), Number(seed >> 32n), choiceIndex, completionTokenIds.length];
  const repetition = [row.repetitionPenalty, numRecent];
  const counted = [row.frequencyPenalty, row.presencePenalty, numGenerated];
  return [...filters, ...draw, ...repetition, ...counted, numBiased, Number(hasMask)];
}

/** Writes the last `count` tokens of prompt and completion, oldest first, to `target` from `at` on. */
function writeLastTokens(row: SampleRow, count: number, target: Int32Array, at: number): void {
  const { promptTokenIds, completionTokenIds } = row;
  const numFromPrompt = Math.max(0, count - completionTokenIds.length);
  target.set(lastOf(promptTokenIds, numFromPrompt), at);
  target.set(lastOf(completionTokenIds, count - numFromPrompt), at + numFromPrompt);
}

/** For thousands of tokens of many rows, every step: `set` of whole arrays is several times as fast as a loop over them. */
function lastOf(tokenIds: ArrayLike<number>, count: number): ArrayLike<number> {
  if (count === 0) return [];
  if (count === tokenIds.length) return tokenIds;
  const start = tokenIds.length - count;
  return tokenIds instanceof Int32Array ? tokenIds.subarray(start) : Array.prototype.slice.call(tokenIds, start);
}
