import { InvalidArgumentError } from '../errors/errors.ts';
import type { Program } from '../program/program.ts';
import type { RowOutput, SampleRow } from './step-output.ts';

const LARGEST_FLOAT = (2 - 2 ** -23) * 2 ** 127;

interface Range {
  readonly least: number;
  readonly most: number;
  readonly isWhole?: boolean;
}

/** Both ends included. Whole numbers are exact up to 2^53. */
const ranges = {
  temperature: { least: 0, most: Number.MAX_VALUE },
  topK: { least: 0, most: Number.MAX_SAFE_INTEGER, isWhole: true },
  topP: { least: 0, most: 1 },
  minP: { least: 0, most: 1 },
  typicalP: { least: 0, most: 1 },
  repetitionPenalty: { least: 2 ** -126, most: LARGEST_FLOAT },
  repetitionWindow: { least: -1, most: Number.MAX_SAFE_INTEGER, isWhole: true },
  frequencyPenalty: { least: -2, most: 2 },
  presencePenalty: { least: -2, most: 2 },
  choiceIndex: { least: 0, most: 2 ** 32 - 1, isWhole: true },
} as const satisfies { readonly [Field in keyof SampleRow]?: Range };
const rangedFields = Object.keys(ranges) as (keyof typeof ranges)[];

/**
 * Checks what is asked of the output rows of a step, but for the token ids of histories, which whoever reads them checks. Every
 * backend calls it before a step that has the output kind `rows`.
 * @throws InvalidArgumentError that names the row, the field and the value
 */
export function checkRowOutputs(
  rows: readonly RowOutput[],
  numOutputRows: number,
  program: Pick<Program, 'vocabSize' | 'contextLength'>,
): void {
  if (rows.length !== numOutputRows) {
    throw new InvalidArgumentError(
      `rows must say what is wanted of each of the ${numOutputRows} output rows, but has ${rows.length} entries.`,
    );
  }
  const firstHidden = rows.findIndex(({ kind }) => kind === 'hidden');
  for (const [index, row] of rows.entries()) {
    if (firstHidden !== -1 && index > firstHidden && row.kind !== 'hidden') {
      throw new InvalidArgumentError(
        `Output rows of the kind hidden must come last, but row ${firstHidden} is one and row ${index} after it is of the kind ${row.kind}.`,
      );
    }
    if (row.kind === 'logprob') checkTokenId(row.tokenId, index, program.vocabSize);
    if (row.kind !== 'sample') continue;
    checkNumbers(row, index);
    checkBiases(row, index, program.vocabSize);
    checkHistory(row, index, program.contextLength);
    checkMask(row, index, program.vocabSize);
  }
}

function checkTokenId(tokenId: number, index: number, vocabSize: number): void {
  if (Number.isInteger(tokenId) && tokenId >= 0 && tokenId < vocabSize) return;
  throw new InvalidArgumentError(
    `Token id ${tokenId} of output row ${index} is outside the vocabulary of ${vocabSize}.`,
  );
}

function checkNumbers(row: SampleRow, index: number): void {
  for (const field of rangedFields) {
    const { least, most, isWhole = false }: Range = ranges[field];
    const value = row[field];
    if (value >= least && value <= most && (!isWhole || Number.isInteger(value))) continue;
    const kind = isWhole ? 'a whole number' : 'a number';
    throw new InvalidArgumentError(
      `${field} of output row ${index} must be ${kind} from ${least} to ${most}, got ${value}.`,
      { details: { field, least, most, received: value } },
    );
  }
  const { seed } = row;
  if (typeof seed === 'bigint' && seed >= 0n && seed < 2n ** 64n) return;
  throw new InvalidArgumentError(
    `seed of output row ${index} must be a bigint from 0 to 2^64 - 1, got ${String(seed)}.`,
  );
}

function checkBiases({ logitBias }: SampleRow, index: number, vocabSize: number): void {
  for (const [tokenId, bias] of logitBias) {
    checkTokenId(tokenId, index, vocabSize);
    if (bias >= -100 && bias <= 100) continue;
    throw new InvalidArgumentError(
      `logitBias of output row ${index} must have values from -100 to 100, but token ${tokenId} has ${bias}.`,
    );
  }
}

/** Penalties look at the history of a row, and backends plan memory for that. */
function checkHistory(row: SampleRow, index: number, contextLength: number): void {
  const { repetitionPenalty, frequencyPenalty, presencePenalty } = row;
  if (repetitionPenalty === 1 && frequencyPenalty === 0 && presencePenalty === 0) return;
  const numTokens = row.promptTokenIds.length + row.completionTokenIds.length;
  if (numTokens <= contextLength) return;
  throw new InvalidArgumentError(
    `Prompt and completion of output row ${index}, which has penalties, may have ${contextLength} tokens, the length of the context, but have ${numTokens}.`,
  );
}

function checkMask({ mask }: SampleRow, index: number, vocabSize: number): void {
  const numWords = Math.ceil(vocabSize / 32);
  if (mask === undefined) return;
  if ((mask instanceof Uint32Array || mask instanceof Int32Array) && mask.length >= numWords) return;
  throw new InvalidArgumentError(
    `mask of output row ${index} must be a Uint32Array or Int32Array of at least ${numWords} words for ${vocabSize} tokens, got ${(mask as { length?: unknown } | null)?.length} words.`,
  );
}
